import { Argument, type Command } from "commander";
import type { JobCallOutcome } from "../../job-provider/host/index.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import { readInput } from "../app-command/read-input.ts";
import { type InputSource, inputStream } from "./input-stream.ts";
import { highestRevision, integerFrom, type JobCommandContext, jobCommand, onJob } from "./job-command.ts";
import { answerOf, type JobCommandIo } from "./job-command-io.ts";
import { keyConflict } from "./key-conflict.ts";
import { type JobHostFiles, loadJobHost } from "./load-job-host.ts";
import { readSubmission, type SubmissionArguments } from "./read-submission.ts";
import { refusalFailure } from "./refusal-failure.ts";
import { saveRequest } from "./save-request.ts";
import { withJobHost } from "./with-job-host.ts";

/** `submit`, `cancel`, `resolve`, `query` and `command`. Only what may dispatch a job starts the composition. */
export function addAskingCommands(root: Command, context: JobCommandContext): void {
  const { answer } = context;
  withInput(jobCommand(root, "submit", "Seals a folder and submits a job on it, or submits a whole request."))
    .option("--provider <id>", "the provider, as the host runs it now; the input is its configuration then")
    .option("--files <folder>", "the folder to seal")
    .option("--path <path...>", "only these files of it, as /rooted/paths")
    .option("--workspace <name>", "where the sealed revision belongs, default inputs")
    .option("--key <key>", "your name for this request: the same again is the same job")
    .option("--save <file>", "keep the whole request there before it is sent; nothing is ever replaced")
    .option("--request <file>", "send a whole request again, as it was saved")
    .action((options: SubmissionArguments & JobHostFiles) => submit(context, options));
  jobCommand(root, "cancel", "Cancels a job at once, also one that runs.")
    .argument("<job>", "the job's id")
    .action((jobId: string, files: JobHostFiles) =>
      onJob(context, { files, jobId }, async (host, reference) => {
        const outcome = await host.cancel(reference);
        if (!outcome.ok) throw refusalFailure(outcome);
        answer(answerOf({ revision: outcome.revision }, `cancelled, revision ${outcome.revision}`));
      }),
    );
  withInput(jobCommand(root, "resolve", "Carries out what you decided about a job that asks for attention."))
    .argument("<job>", "the job's id")
    .addArgument(new Argument("<action>", "complete takes the result as its input").choices(actions))
    .requiredOption("--revision <n>", "the revision that you looked at", integerFrom(1, highestRevision))
    .action((jobId: string, action: Action, options: ResolveOptions) =>
      resolveJob(context, { jobId, action }, options),
    );
  withInput(jobCommand(root, "query", "Asks a job's provider, in this process."))
    .argument("<job>", "the job's id")
    .argument("<name>", "the query")
    .action(async (jobId: string, name: string, options: InputSource & JobHostFiles) => {
      const { signal } = context.io;
      const value = (await inputOf(options, context.io)) ?? null;
      const outcome = await onJob(context, { files: options, jobId }, (host, reference) =>
        host.query(reference, nameOf(name), { value, signal }),
      );
      answerCall(context, outcome);
    });
  withInput(jobCommand(root, "command", "Has a job's provider do something, once under an id."))
    .argument("<job>", "the job's id")
    .argument("<name>", "the command")
    .requiredOption("--id <id>", "your name for this command: the same again gives the recorded result")
    .requiredOption("--revision <n>", "the revision that you looked at", integerFrom(1, highestRevision))
    .action(async (jobId: string, name: string, options: CommandOptions) => {
      const { signal } = context.io;
      const value = (await inputOf(options, context.io)) ?? null;
      const request = { commandId: nameOf(options.id), expectedRevision: options.revision, value, signal };
      const outcome = await onJob(context, { files: options, jobId }, (host, reference) =>
        host.command(reference, nameOf(name), request),
      );
      answerCall(context, outcome);
    });
}

const actions = ["complete", "fail", "cancel", "requeue"] as const;
type Action = (typeof actions)[number];
type ResolveOptions = InputSource & JobHostFiles & { readonly revision: number };
type CommandOptions = ResolveOptions & { readonly id: string };

function withInput(command: Command): Command {
  return command
    .option("--stdin", "read the input, one JSON document, from standard input")
    .option("--input <file>", "read it from a file");
}

async function inputOf(source: InputSource, io: JobCommandIo): Promise<unknown> {
  const open = inputStream(source, io);
  return open === undefined ? undefined : readInput(open, io.signal);
}

async function submit(
  { io, isJson, answer }: JobCommandContext,
  options: SubmissionArguments & JobHostFiles,
): Promise<void> {
  const loaded = await loadJobHost(options, io.environment);
  const request = await readSubmission(options, loaded.options, io);
  if (options.save !== undefined) await saveRequest(options.save, request);
  const outcome = await withJobHost(loaded, { queue: true, io }, async (host) => {
    const answered = await host.submit({ ...request, signal: io.signal });
    if (answered.status !== "refused" || answered.reference === undefined) return answered;
    const { reference } = answered;
    throw await keyConflict(host, { request, reference, providers: loaded.options.providers });
  });
  if (outcome.status === "refused") throw refusalFailure(outcome);
  if (outcome.status === "unknown") throw new CommandFailure(1, "outcome-unknown", unknownText(options));
  const { reference, deduplicated } = outcome;
  if (deduplicated && !isJson) io.err("accepted before\n"); // standard output is the id alone, for a shell's variable
  answer(answerOf(outcome, reference.jobId));
}

function unknownText({ save, request }: SubmissionArguments): string {
  const again =
    save !== undefined || request !== undefined
      ? "send the file again by --request"
      : "submit the same again under the same key, while the provider is the same";
  return `the answer was lost: ${again}, and learn whether there is a job`;
}

async function resolveJob(
  context: JobCommandContext,
  { jobId, action }: { readonly jobId: string; readonly action: Action },
  options: ResolveOptions,
): Promise<void> {
  const { io, answer } = context;
  const result = await inputOf(options, io);
  if ((action === "complete") !== (result !== undefined))
    throw new CommandFailure(
      2,
      "invalid-usage",
      action === "complete"
        ? "complete: expected the result by --stdin or --input"
        : `${action}: takes no input`,
    );
  const request = { expectedRevision: options.revision, signal: io.signal };
  const resolution = action === "complete" ? { action, result } : { action };
  const asked = { files: options, jobId, queue: action === "requeue" };
  const outcome = await onJob(context, asked, (host, reference) =>
    host.resolveAttention(reference, { ...request, ...resolution }),
  );
  if (!outcome.ok) throw refusalFailure(outcome);
  answer(answerOf({ revision: outcome.revision }, `${action}: done, revision ${outcome.revision}`));
}

function answerCall({ answer }: JobCommandContext, outcome: JobCallOutcome): void {
  if (!outcome.ok) throw refusalFailure(outcome);
  answer(answerOf(outcome.value, JSON.stringify(outcome.value, null, 2)));
}

function nameOf(text: string): string {
  if (text.length >= 1 && text.length <= 256 && text.isWellFormed()) return text;
  throw new CommandFailure(
    2,
    "invalid-usage",
    `a name or id: expected 1..256 characters, got ${text.length}`,
  );
}
