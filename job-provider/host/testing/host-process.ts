import { join } from "node:path";
import type { JobReference } from "../../lifecycle/job-snapshot.ts";
import type { JobSubmitInput } from "../../submission/job-submit-input.ts";

/** What a process does with its job host, until it is at a point. */
export interface HostProcessOptions {
  readonly url: string;
  /** The world's, with its stores. */
  readonly directory: string;
  /** Submits, up to the call that dispatches: `dispatch`. */
  readonly submit?: Omit<JobSubmitInput, "signal">;
  /** Runs commands at once, each up to its provider: `command`. */
  readonly commands?: readonly {
    readonly reference: JobReference;
    readonly name: string;
    readonly commandId: string;
    readonly expectedRevision: number;
    readonly value: unknown;
  }[];
  /** Works jobs, up to the provider of one: `execute`. */
  readonly work?: true;
}

/** Starts such a process, waits until it is at that point, as often as there are commands, and kills it there. */
export async function killAt(
  point: "dispatch" | "command" | "execute",
  options: HostProcessOptions,
): Promise<void> {
  const program = join(import.meta.dir, "host-program.ts");
  const child = Bun.spawn([process.execPath, program, JSON.stringify(options)], {
    stdout: "pipe",
    stderr: "pipe",
  });
  let text = "";
  const isThere = (): boolean =>
    text.split(JSON.stringify({ point })).length > (options.commands?.length ?? 1);
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (isThere()) break;
  }
  child.kill("SIGKILL");
  await child.exited;
  if (!isThere())
    throw new Error(`the process ended before it was there: ${await new Response(child.stderr).text()}`);
}
