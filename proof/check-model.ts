import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a search of the model's states came to. */
export interface Search {
  /** The invariant whose assertion failed; undefined when none did. */
  readonly violated: string | undefined;
  readonly states: number;
  /** Every state was visited, and none but those at the end of all processes has no successor. */
  readonly complete: boolean;
}

/** Whether the checker and the compiler that it needs are installed. */
export const spinIsHere: boolean = Bun.which("spin") !== null && Bun.which("gcc") !== null;

/**
 * Searches the states of the lease protocol with Spin, in a folder of its own. `options` are `-D…` bounds and variants.
 *
 * @throws Error with what the tool printed, when it could not search.
 */
export async function checkModel(options: readonly string[]): Promise<Search> {
  const folder = mkdtempSync(join(tmpdir(), "lease-model-"));
  try {
    await run(folder, ["spin", "-a", ...options, join(import.meta.dir, "lease.pml")]);
    await run(folder, ["gcc", "-O1", "-DSAFETY", "-DCOLLAPSE", "-w", "-o", "search", "pan.c"]);
    return read(await run(folder, ["./search", "-m1000000"]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function read(report: string): Search {
  const errors = /errors: (\d+)/.exec(report)?.[1];
  const states = /(\d+) states, stored/.exec(report)?.[1];
  if (errors === undefined || states === undefined) throw new Error(`Spin reported no search:\n${report}`);
  const violated = /assertion violated (\w+)/.exec(report)?.[1];
  if (violated === undefined && errors !== "0")
    throw new Error(`Spin found an error of another kind:\n${report}`);
  const complete = !/Search not completed|max search depth too small/.test(report);
  return { violated, states: Number(states), complete };
}

async function run(cwd: string, command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (child.exitCode !== 0)
    throw new Error(`${command.join(" ")} ended with ${String(child.exitCode)}:\n${stdout}${stderr}`);
  return stdout;
}
