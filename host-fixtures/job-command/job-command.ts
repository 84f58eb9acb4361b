import { type Command, InvalidArgumentError } from "commander";
import type { JobHost } from "../../job-provider/host/index.ts";
import type { JobReference } from "../../job-provider/index.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import type { JobAnswer, JobCommandIo } from "./job-command-io.ts";
import { type JobHostFiles, loadJobHost } from "./load-job-host.ts";
import { withJobHost } from "./with-job-host.ts";

/** What every command gets. */
export interface JobCommandContext {
  readonly io: JobCommandIo;
  /** Whether answers are for a program. */
  readonly isJson: boolean;
  /** Prints what was found. */
  answer(found: JobAnswer): void;
}

/** Adds a command with the options that all of them have. Its action gets {@link JobHostFiles} among its options. */
export function jobCommand(root: Command, name: string, description: string): Command {
  return root
    .command(name)
    .description(description)
    .requiredOption("--composition <file>", "the composition of the host, JSON")
    .requiredOption("--jobs <file>", "the module that says what the job host is made of")
    .option("--json", "print one JSON envelope")
    .allowExcessArguments(false);
}

/** Runs work on one job of the host. With `queue` the composition is started for it. */
export async function onJob<T>(
  { io }: JobCommandContext,
  asked: { readonly files: JobHostFiles; readonly jobId: string; readonly queue?: boolean },
  work: (host: JobHost, reference: JobReference) => Promise<T>,
): Promise<T> {
  const { files, jobId, queue = false } = asked;
  if (jobId.length < 1 || jobId.length > 256)
    throw new CommandFailure(2, "invalid-usage", `JOB: expected 1..256 characters, got ${jobId.length}`);
  const loaded = await loadJobHost(files, io.environment);
  return withJobHost(loaded, { queue, io }, (host) => work(host, { hostId: loaded.options.hostId, jobId }));
}

/** What was found of a job. @throws CommandFailure `JOB_NOT_FOUND` when that is null */
export function found<T>(value: T | null): T {
  if (value === null) throw new CommandFailure(3, "JOB_NOT_FOUND", "the host keeps no such job");
  return value;
}

/** Reads an option's integer, for commander. */
export function integerFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected an integer ${least}..${most}`);
  };
}

/** The highest revision that a job can have. */
export const highestRevision = 2_147_483_647;
