import type { Command } from "commander";
import { type JobHost, JobHostError, migrateJobHost } from "../../job-provider/host/index.ts";
import type { JobProviderDescriptor } from "../../job-provider/index.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import { describeError } from "../app-command/describe-error.ts";
import { integerFrom, type JobCommandContext, jobCommand } from "./job-command.ts";
import { answerOf } from "./job-command-io.ts";
import { type JobHostFiles, loadJobHost } from "./load-job-host.ts";
import { printable } from "./printable.ts";
import { runWorker } from "./run-worker.ts";
import { withJobHost } from "./with-job-host.ts";

/** `worker`, `setup` and `check`. */
export function addRunningCommands(root: Command, context: JobCommandContext): void {
  const { io, answer } = context;
  jobCommand(root, "worker", "Works jobs until SIGTERM or Ctrl-C, then drains.")
    .option("--concurrency <n>", "most attempts at a time, 1..100", integerFrom(1, 100), 1)
    .option("--drain <seconds>", "how long attempts may go on then, 0..86400", integerFrom(0, 86_400), 30)
    .action(async (options: JobHostFiles & { readonly concurrency: number; readonly drain: number }) => {
      const { concurrency, drain: drainSeconds } = options;
      const say = (line: string): void => io.err(`${line}\n`);
      const run = { concurrency, drainSeconds, signal: io.signal, say };
      const loaded = await loadJobHost(options, io.environment);
      await withJobHost(loaded, { queue: true, io }, (host) => runWorker(host, run));
      answer(answerOf({ stopped: true }, "stopped"));
    });
  jobCommand(root, "setup", "Installs the records of the job host, or brings them up to date.")
    .option(
      "--runtime-role <name>",
      "give this role exactly what the host needs, also when the records exist",
    )
    .action((options: JobHostFiles & { readonly runtimeRole?: string }) => setUp(context, options));
  jobCommand(
    root,
    "check",
    "Says whether the host could work, and which providers it runs. Changes nothing.",
  ).action(async (files: JobHostFiles) => {
    const loaded = await loadJobHost(files, io.environment);
    await withJobHost(loaded, { queue: true, io }, (host: JobHost) => host.list({ limit: 1 }));
    const { hostId, providers } = loaded.options;
    const count = `${providers.length} provider${providers.length === 1 ? "" : "s"}`;
    const lines = [`${hostId} could work, with ${count}`, ...providers.map(lineOf)];
    answer(answerOf({ hostId, providers: providers.map(summaryOf) }, lines.map(printable).join("\n")));
  });
}

async function setUp(
  { io, answer }: JobCommandContext,
  { runtimeRole, ...files }: JobHostFiles & { readonly runtimeRole?: string },
): Promise<void> {
  const { options } = await loadJobHost(files, io.environment);
  const { schema = "job_host" } = options.database;
  const role = runtimeRole === undefined ? {} : { runtimeRole };
  await migrateJobHost({ ...options.database, ...role }).catch((error: unknown) => {
    if (error instanceof JobHostError && error.code === "invalid-options" && runtimeRole !== undefined)
      throw new CommandFailure(2, error.code, describeError(error, io.environment));
    throw error;
  });
  answer(answerOf({ schema, ...role }, `the records in the schema "${schema}" are up to date`));
}

/** What a request has to name, and what can be asked. */
function summaryOf({ id, version, manifestDigest, kind, queries, commands }: JobProviderDescriptor): object {
  const namesOf = (each: readonly { readonly name: string }[]): string[] => each.map(({ name }) => name);
  return { id, version, manifestDigest, kind, queries: namesOf(queries), commands: namesOf(commands) };
}

function lineOf({ id, version, kind, queries, commands }: JobProviderDescriptor): string {
  const asked = [...queries, ...commands].map(({ name }) => name).join(", ");
  return `${id} ${version}, ${kind}${asked === "" ? "" : `: ${asked}`}`;
}
