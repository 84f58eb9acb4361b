import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { containsCanary, redactCanaries } from "../scripts/gate/canaries.ts";
import { serverChoices } from "../scripts/gate/servers.ts";
import { root } from "./support/repository-files.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

// Written in two parts, or the gate that runs this test would find them.
const canary = `${"CANARY"}-${"abcd1234"}`;
const leaseToken = `${"job_lease_"}${"A".repeat(43)}`;

test("a run counts what passed and names what failed", async () => {
  const { result } = await gateOn({
    "good.test.ts": `test("good", () => {}); test.skip("later", () => {});`,
    "bad.test.ts": `test("bad <&>", () => { throw new Error("wrong\\n" + ${inParts(canary)}); });`,
  });
  expect(result).toEqual({
    passed: 1,
    failed: 1,
    failures: ["bad.test.ts:2 bad <&>: wrong CANARY-[redacted]"],
    problems: [expect.stringMatching(/^a canary came out on stderr/)],
  });
});

test("process.exit(0) inside a test is not green", async () => {
  const { result } = await gateOn({
    "good.test.ts": `test("good", () => {});`,
    "exit.test.ts": `test("exit", () => { process.exit(0); });`,
  });
  expect(result.passed).toBe(1);
  expect(result.failed).toBe(1);
});

test("a run that ends before it reports is not green", async () => {
  const { result } = await gateOn({ "only.test.ts": `test("exit", () => { process.exit(0); });` });
  expect(result.passed).toBe(0);
  expect(result.problems).toContain("no report, or not one test passed in it");
});

test("a test file that reports no test is named", async () => {
  const { result } = await gateOn({ "good.test.ts": `test("good", () => {});`, "empty.test.ts": "" });
  expect(result.problems).toContain("empty.test.ts reported no test");
});

test("an error outside of every test is not green", async () => {
  const { result } = await gateOn({
    "late.test.ts": `test("good", () => {}); queueMicrotask(() => { throw new Error("unhandled"); });`,
  });
  expect(result.failed + result.problems.length).toBeGreaterThan(0);
});

test.each(["console.log", "console.error"])(
  "a canary written with %s is found, and not repeated",
  async (print) => {
    const { result, output } = await gateOn({
      "leak.test.ts": `test("leak", () => { ${print}("token=" + ${inParts(leaseToken)} + " " + ${inParts(canary)}); });`,
    });
    expect(result.passed).toBe(1);
    expect(result.problems).toHaveLength(1);
    expect(result.problems[0]).toMatch(
      /canary came out on std(out|err) line \d+: token=job_lease_\[redacted\] CANARY-\[redacted\]/,
    );
    expect(containsCanary(output)).toBe(false);
  },
);

test("a canary is found in the middle of a line and taken out of it", () => {
  expect(containsCanary(`{"payload":"${canary}"}`)).toBe(true);
  expect(redactCanaries(`{"payload":"${canary}"}`)).toBe(`{"payload":"CANARY-[redacted]"}`);
  expect(containsCanary("a job_lease_short and a CANARY alone")).toBe(false);
});

test("the newest installed server is chosen beside the embedded one", () => {
  const folder = temporaryFolder();
  for (const version of ["9", "15", "17"]) mkdirSync(join(folder, version, "bin"), { recursive: true });
  for (const version of ["9", "15"]) writeFileSync(join(folder, version, "bin/initdb"), "");
  expect(serverChoices(folder)).toEqual([
    { name: "embedded", binaries: undefined },
    { name: "system-15", binaries: join(folder, "15/bin") },
  ]);
  expect(serverChoices(join(folder, "none"))).toHaveLength(1);
});

/** Runs the gate's test step, in a process of its own, on these test files. */
async function gateOn(files: Record<string, string>) {
  const folder = temporaryFolder();
  for (const [name, source] of Object.entries(files)) {
    writeFileSync(join(folder, name), `import { test } from "bun:test";\n${source}\n`);
  }
  const run = { name: `trial-${crypto.randomUUID()}`, env: {}, folder };
  const program = `
    const { runTests } = await import(${JSON.stringify(join(root, "scripts/gate/run-tests.ts"))});
    const result = await runTests(${JSON.stringify(run)});
    await Bun.write(${JSON.stringify(join(folder, "result.json"))}, JSON.stringify(result));`;
  const child = Bun.spawn([process.execPath, "-e", program], { cwd: folder, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  rmSync(join(root, ".cache/junit", `${run.name}.xml`), { force: true });
  const result = (await Bun.file(join(folder, "result.json")).json()) as {
    passed: number;
    failed: number;
    failures: string[];
    problems: string[];
  };
  return { result, output: stdout + stderr };
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gate-"));
  folders.push(folder);
  return folder;
}

/** Source text of an expression that gives `text`, without spelling it. */
function inParts(text: string): string {
  return `${JSON.stringify(text.slice(0, 5))} + ${JSON.stringify(text.slice(5))}`;
}
