import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Each broken promise, and the test that has to tell. */
const killers: readonly (readonly [fault: string, killer: string])[] = [
  [
    "no fence on settle",
    "a job whose worker went silent runs again, and the old attempt changes nothing any more",
  ],
  ["no conflict of keys", "another input or another task is a conflict and changes nothing"],
  [
    "a lost cancel request",
    "a running job stays running until its handler has ended, and is then cancelled whatever it returned",
  ],
  ["a retry of success", "only a failed job can be retried, and of many retries at once one is true"],
  ["an unbounded page", "pages hold the tasks that are named, by ascending id, each job once"],
  ["a run after cancel", "cancelling while workers claim: no job both counts as cancelled and runs"],
  [
    "a give-back that counts",
    "a worker that is stopped before its claim arrives gives it back as it was, due at once",
  ],
  [
    "a retry with all that was left",
    "a retry after an early end gives exactly one more attempt, not the ones that were left",
  ],
];

test("a provider that breaks none of these promises passes their tests", async () => {
  const { exitCode, output } = await suiteOver(
    "none",
    killers.map(([, killer]) => killer),
  );
  expect(output).toContain(` ${killers.length} pass`);
  expect(exitCode).toBe(0);
}, 30_000);

test.each(killers)(
  "the suite kills a provider with %s",
  async (fault, killer) => {
    const { exitCode, output } = await suiteOver(fault, [killer]);
    expect(output).toMatch(new RegExp(`\\(fail\\) broken as a task provider > .+ > ${literally(killer)}`));
    expect(exitCode).toBe(1);
  },
  30_000,
);

test("outside of bun test the suite says what it needs", async () => {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  try {
    const source = await Bun.file(join(import.meta.dir, "test-runner.ts")).text();
    const program = join(folder, "program.mjs");
    writeFileSync(program, new Bun.Transpiler({ loader: "ts" }).transformSync(source));
    const child = Bun.spawn(["node", program], {
      stdout: "ignore",
      stderr: "pipe",
    });
    const [stderr] = await Promise.all([child.stderr.text(), child.exited]);
    expect(stderr).toContain("run `bun test`");
    expect(child.exitCode).toBe(1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Runs those tests of the suite over a provider with that fault. */
async function suiteOver(
  fault: string,
  names: readonly string[],
): Promise<{ readonly exitCode: number | null; readonly output: string }> {
  const file = join(import.meta.dir, "testing/broken-provider.ts");
  const pattern = names.map(literally).join("|");
  const child = Bun.spawn([process.execPath, "test", "-t", pattern, file], {
    env: { ...process.env, BROKEN_PROMISE: fault },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exitCode: child.exitCode, output: Bun.stripANSI(stdout + stderr) };
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
