import { runCommand } from "./run-command.ts";

const steps: readonly (readonly [name: string, command: readonly string[]])[] = [
  ["format", ["biome", "check", "."]],
  ["lint with types", ["oxlint", "--type-aware", "--deny-warnings"]],
  ["types", ["tsc", "--project", "tsconfig.json"]],
  ["import directions", [process.execPath, "test", "tests/boundaries.test.ts"]],
];

/** Runs every step, also after one failed, so that one run shows all there is to mend. Returns how many failed. */
export async function checkSteps(): Promise<number> {
  let failed = 0;
  for (const [name, command] of steps) {
    console.log(`\n== ${name}`);
    const { exitCode } = await runCommand(command);
    if (exitCode !== 0) {
      failed += 1;
      console.log(`== ${name}: FAILED`);
    }
  }
  return failed;
}
