import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../host-fixtures/testing/job-command-world.ts";
import { setup } from "../plugin/operator/index.ts";
import { codeBlocks } from "./support/code-blocks.ts";
import { readAll, root } from "./support/repository-files.ts";
import { testDatabase } from "./support/test-database.ts";

// Below the repository, so that the blocks find the package and zod as a project of somebody's would.
const folder = join(root, ".cache/first-job-host");
const [hostPage, providerPage] = ["docs/jobs/operate.md", "docs/jobs/write-a-provider.md"];
const files = ["--composition", join(folder, "host.json"), "--jobs", join(folder, "job-host.ts")];
const before = { ...process.env };

beforeAll(async () => {
  const pages = await readAll([hostPage, providerPage]);
  const blockOf = (page: string, language: string, word: string): string => {
    const found = codeBlocks(pages.get(page) ?? "", language).find(({ code }) => code.includes(word));
    if (found === undefined) throw new Error(`${page} has no ${language} block with ${word}`);
    return found.code;
  };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "drafts"), { recursive: true });
  writeFileSync(join(folder, "drafts/march.txt"), "to be or not to be");
  writeFileSync(join(folder, "host.json"), blockOf(hostPage, "json", '"instances"'));
  writeFileSync(join(folder, "job-host.ts"), blockOf(hostPage, "ts", "export const jobHostOptions"));
  writeFileSync(join(folder, "word-count.ts"), blockOf(providerPage, "ts", "export const wordCount"));
  const { url } = await testDatabase();
  Object.assign(process.env, { DATABASE_URL: url, STUDIO_DATA: join(folder, "data") });
  expect(await setup({ databaseUrl: url, schema: "jobs" })).toMatchObject({ ok: true });
}, 60_000);

afterAll(() => {
  for (const name of ["DATABASE_URL", "STUDIO_DATA"]) delete process.env[name];
  Object.assign(process.env, before);
  rmSync(folder, { recursive: true, force: true });
});

async function jobs(...args: string[]): Promise<string> {
  const { exitCode, out, err } = await runCommand([...args, ...files]);
  expect([exitCode, err]).toEqual([0, expect.any(String)]);
  return out.trim();
}

test("the first job host of the guide is set up, checked, given a job, and works it", async () => {
  await jobs("setup");
  expect(await jobs("check")).toStartWith("studio could work, with 1 provider\nstudio/word-count 1.0.0");
  const provider = ["--provider", "studio/word-count"];
  const job = await jobs("submit", ...provider, "--files", join(folder, "drafts"), "--key", "first");
  const stopping = new AbortController();
  const worker = runCommand(["worker", ...files], { signal: stopping.signal });
  expect(await jobs("watch", job)).toBe("1 queued\n2 running\n3 completed");
  stopping.abort();
  expect(await worker).toMatchObject({ exitCode: 0, out: "stopped\n" });
  expect(JSON.parse(await jobs("result", job))).toEqual({ state: "completed", value: { words: 6 } });
}, 60_000);
