import { type Command, Option } from "commander";
import type { JobListEntry } from "../../job-provider/host/index.ts";
import { type JobLifecycleState, jobLifecycle } from "../../job-provider/index.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import { downloadArtifacts } from "./download-artifacts.ts";
import { followJob } from "./follow-job.ts";
import {
  found,
  highestRevision,
  integerFrom,
  type JobCommandContext,
  jobCommand,
  onJob,
} from "./job-command.ts";
import { answerOf } from "./job-command-io.ts";
import { type JobHostFiles, loadJobHost } from "./load-job-host.ts";
import { printable } from "./printable.ts";
import { withJobHost } from "./with-job-host.ts";

/** `get`, `list`, `result`, `artifacts` and `watch`: they read the records, so they need no queue and start no composition. */
export function addReadingCommands(root: Command, context: JobCommandContext): void {
  const { answer } = context;
  jobCommand(root, "get", "Shows a job, and what it waits for: attempts, lease, dispatch, progress.")
    .argument("<job>", "the job's id")
    .action((jobId: string, files: JobHostFiles) =>
      onJob(context, { files, jobId }, async (host, reference) => {
        const [snapshot, standing] = await Promise.all([host.get(reference), host.inspect(reference)]);
        const job = { ...found(standing), ...found(snapshot) };
        answer(answerOf(job, JSON.stringify(job, null, 2)));
      }),
    );
  jobCommand(root, "list", "Lists jobs, about in the order of their acceptance.")
    .addOption(new Option("--state <state>", "only those in this state").choices(Object.keys(jobLifecycle)))
    .option("--provider <id>", "only those of this provider")
    .option("--limit <n>", "most jobs, 1..100, default 50", integerFrom(1, 100))
    .option("--after <job>", "begin after this job: the next of the page before")
    .action((options: ListOptions) => list(context, options));
  jobCommand(root, "result", "Shows how a job ended, or where it stands.")
    .argument("<job>", "the job's id")
    .action((jobId: string, files: JobHostFiles) =>
      onJob(context, { files, jobId }, async (host, reference) => {
        const result = found(await host.result(reference));
        answer(answerOf(result, JSON.stringify(result, null, 2)));
      }),
    );
  jobCommand(root, "artifacts", "Lists what a job has published, or downloads it.")
    .argument("<job>", "the job's id")
    .option("--to <folder>", "download to this folder, which is empty or does not exist")
    .option("--role <role>", "only those of this role")
    .action((jobId: string, options: ArtifactOptions) => artifactsOf(context, jobId, options));
  jobCommand(
    root,
    "watch",
    "Follows a job until it has ended. Ctrl-C ends the watch and leaves the job alone.",
  )
    .argument("<job>", "the job's id")
    .option(
      "--after <revision>",
      "the revision that was seen last, default 0",
      integerFrom(0, highestRevision),
      0,
    )
    .option(
      "--logs-after <ordinal>",
      "the line that was seen last, default 0",
      integerFrom(0, highestRevision),
      0,
    )
    .action(
      (jobId: string, { after, logsAfter, ...files }: JobHostFiles & { after: number; logsAfter: number }) =>
        onJob(context, { files, jobId }, (host, reference) =>
          followJob(host, { reference, after, logsAfter, context }),
        ),
    );
}

interface ArtifactOptions extends JobHostFiles {
  readonly to?: string;
  readonly role?: string;
}

async function artifactsOf(
  context: JobCommandContext,
  jobId: string,
  { to, role, ...files }: ArtifactOptions,
): Promise<void> {
  const { io, answer } = context;
  await onJob(context, { files, jobId }, async (host, reference) => {
    const all = found(await host.artifacts(reference));
    const artifacts = all.filter((each) => role === undefined || each.role === role);
    if (to !== undefined) await downloadArtifacts(artifacts, { folder: to, signal: io.signal });
    const lines = artifacts.map((each) =>
      printable(`${each.role} ${each.path} ${each.mediaType} ${each.length} ${each.digest}`),
    );
    answer(answerOf(artifacts, lines.join("\n") || "nothing is published"));
  });
}

interface ListOptions extends JobHostFiles {
  readonly state?: JobLifecycleState;
  readonly provider?: string;
  readonly limit?: number;
  readonly after?: string;
}

async function list({ io, answer }: JobCommandContext, options: ListOptions): Promise<void> {
  const { state, provider, limit, after, ...files } = options;
  const request = {
    ...(state && { state }),
    ...(provider !== undefined && { providerId: provider }),
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
  };
  const loaded = await loadJobHost(files, io.environment);
  await withJobHost(loaded, { queue: false, io }, async (host) => {
    const page = await host.list(request).catch((error: unknown) => {
      if (error instanceof TypeError) throw new CommandFailure(2, "invalid-usage", error.message);
      throw error;
    });
    const lines = page.jobs.map(lineOf);
    if (page.next !== null) lines.push(`more: --after ${page.next}`);
    answer(answerOf(page, lines.join("\n") || "no jobs"));
  });
}

function lineOf({ reference, state, code, revision, provider, acceptedAt }: JobListEntry): string {
  const standing = code === null ? state : `${state} ${code}`;
  return printable(`${reference.jobId} ${acceptedAt} ${provider.id} ${standing}, revision ${revision}`);
}
