import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a search of the model's states came to. */
export interface Search {
  /** The invariant that does not hold, by its name in the model; undefined when all do. */
  readonly violated: string | undefined;
  readonly states: number;
  /** Every state was visited. */
  readonly complete: boolean;
}

export interface SearchOptions {
  /** `-D…` bounds. Default: those of the model. */
  readonly bounds?: readonly string[];
  /** Makes another protocol of it: texts that each stand in the model just once, and what comes in their place. */
  readonly edits?: readonly (readonly [string, string])[];
}

/** Whether the checker and the compiler that it needs are installed. */
export const spinIsHere: boolean = Bun.which("spin") !== null && Bun.which("gcc") !== null;

/**
 * Searches the states of the lease protocol with Spin, in a folder of its own.
 *
 * @throws Error with what the tool printed, when it could not search; or with the text of an edit that stands there not just once.
 */
export async function checkModel({ bounds = [], edits = [] }: SearchOptions): Promise<Search> {
  const folder = mkdtempSync(join(tmpdir(), "lease-model-"));
  try {
    writeFileSync(join(folder, "lease.pml"), edited(edits));
    await run(folder, ["spin", "-a", ...bounds, "lease.pml"]);
    // An edited model fails within few states: there a faster search would not make up for the time of the compiler.
    const speed = edits.length > 0 ? "-O0" : "-O1";
    await run(folder, ["gcc", speed, "-DSAFETY", "-DCOLLAPSE", "-w", "-o", "search", "pan.c"]);
    return read(await run(folder, ["./search", edits.length > 0 ? "-w18" : "-w22"]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function edited(edits: readonly (readonly [string, string])[]): string {
  return edits.reduce(
    (before, [from, to]) => {
      if (before.split(from).length !== 2) throw new Error(`the model does not hold just once: ${from}`);
      return before.replace(from, () => to);
    },
    readFileSync(join(import.meta.dir, "lease.pml"), "utf8"),
  );
}

function read(report: string): Search {
  const errors = /errors: (\d+)/.exec(report)?.[1];
  const states = /(\d+) states, stored/.exec(report)?.[1];
  if (errors === undefined || states === undefined) throw new Error(`Spin reported no search:\n${report}`);
  const isStuck = report.includes("invalid end state (at depth");
  const violated = isStuck ? "no_job_gets_stuck" : /assertion violated (\w+)/.exec(report)?.[1];
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
