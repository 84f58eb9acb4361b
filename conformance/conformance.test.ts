import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresBackends } from "../tests/contract/support/backends.ts";
import { codeBlocks } from "../tests/support/code-blocks.ts";
import { root } from "../tests/support/repository-files.ts";
import { jobsConformanceCases } from "./all-cases.ts";
import { missingNeeds } from "./conformance-case.ts";
import { describeJobsConformance } from "./describe-jobs-conformance.ts";
import { runConformanceCase } from "./run-conformance-case.ts";
import { failureOf } from "./testing/failure-of.ts";
import { memoryConformance } from "./testing/memory-conformance.ts";
import { postgresConformance } from "./testing/postgres-conformance.ts";

describeJobsConformance(memoryConformance("moved"));
for (const backend of postgresBackends) describeJobsConformance(postgresConformance(backend));

test("where time can only be waited for, every case that needs no other passes too", async () => {
  const conformance = memoryConformance("waited");
  const waiting = jobsConformanceCases.filter((each) => missingNeeds(each, conformance).length === 0);
  expect(waiting.length).toBeGreaterThan(140);
  const failures: string[] = [];
  const runNext = async (): Promise<void> => {
    for (let each = waiting.shift(); each; each = waiting.shift()) {
      const { name } = each;
      await runConformanceCase(each, conformance).catch((error: unknown) => {
        failures.push(`${name}: ${String(error)}`);
      });
    }
  };
  await Promise.all(Array.from({ length: 32 }, runNext)); // the waits side by side
  expect(failures).toEqual([]);
}, 60_000);

test("a case that needs what the provider does not offer says so, and runs nothing", async () => {
  const { maintain: _, ...conformance } = memoryConformance("moved");
  const failure = await failureOf(
    conformance,
    "maintenance leaves a valid lease alone, up to its last microsecond",
  );
  expect(failure).toBeInstanceOf(TypeError);
  expect(String(failure)).toContain("needs maintain, which in-memory jobs, time moved has not");
});

test("the world of a case that fails is closed all the same", async () => {
  const conformance = memoryConformance("moved");
  let open = 0;
  const failure = await failureOf(
    {
      ...conformance,
      async provide(configuration) {
        open += 1;
        const world = await conformance.provide({ ...configuration, lease_seconds: 1 });
        return { ...world, close: () => world.close().then(() => void (open -= 1)) };
      },
    },
    "a claim, and the lease that it gives, date from the moment of the claim",
  );
  expect(String(failure)).toMatch(/^ConformanceFailure: expected .*00:00:32\.000001Z/);
  expect(open).toBe(0);
});

test("the provider of the guide passes, as it stands there", async () => {
  const page = await Bun.file(join(root, "docs/conformance.md")).text();
  const [guide] = codeBlocks(page, "ts");
  const file = join(root, ".cache/conformance-guide/guide.test.ts");
  await Bun.write(file, guide?.code ?? "");
  const child = Bun.spawn([process.execPath, "test", "--path-ignore-patterns=none", file], {
    cwd: root,
    stdout: "ignore",
    stderr: "pipe",
  });
  const [output] = await Promise.all([child.stderr.text(), child.exited]);
  expect(output).toMatch(/^ *[12]\d\d pass$/m);
  expect(output).toMatch(/^ *0 fail$/m);
  expect(child.exitCode).toBe(0);
});

test("without Bun the cases can be had, and the suite says what it needs", async () => {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  try {
    const source = await Bun.file(join(import.meta.dir, "test-runner.ts")).text();
    writeFileSync(
      join(folder, "test-runner.mjs"),
      new Bun.Transpiler({ loader: "ts" }).transformSync(source),
    );
    const program = join(folder, "program.mjs");
    writeFileSync(program, `import { bunTest } from "./test-runner.mjs"; console.log("loaded"); bunTest();`);
    const child = Bun.spawn(["node", program], { stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect(stdout).toBe("loaded\n");
    expect(stderr).toContain("run `bun test`");
    expect(child.exitCode).toBe(1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
