import { stat } from "node:fs/promises";
import { JobFileError, sealDirectory } from "../../job-provider/files/index.ts";
import {
  admitConfiguration,
  digestOf,
  type JobProviderDescriptor,
  type JobRevision,
  type JobSubmitInput,
  type JsonValue,
  parseJobSubmitInput,
} from "../../job-provider/index.ts";
import { runnableJobProvider } from "../../job-provider/provider/define-job-provider.ts";
import { CommandFailure } from "../app-command/command-failure.ts";
import { describeError } from "../app-command/describe-error.ts";
import { readInput } from "../app-command/read-input.ts";
import { explicitPointersOf } from "./explicit-pointers-of.ts";
import { type InputSource, inputStream } from "./input-stream.ts";
import type { JobCommandIo } from "./job-command-io.ts";
import type { OwnJobHostOptions } from "./load-job-host.ts";
import { refusalFailure } from "./refusal-failure.ts";
import { readRequest } from "./save-request.ts";

/** A submission as arguments: a whole request, or what a request is made from. */
export interface SubmissionArguments extends InputSource {
  readonly provider?: string;
  /** A folder, which is sealed. */
  readonly files?: string;
  /** Which of its files, as rooted paths. Default: all. */
  readonly path?: readonly string[];
  /** Where the revision belongs. Default `inputs`. */
  readonly workspace?: string;
  /** The submission key. */
  readonly key?: string;
  /** A file that holds a whole request, such as one that was saved. Nothing else is given with it. */
  readonly request?: string;
  /** Where the request is kept before it is sent. */
  readonly save?: string;
}

/**
 * The request that the arguments ask for. A folder is sealed once everything else is known to hold; the same folder gives the same revision,
 * so the same command under the same key is the same request, as long as the host runs the same version of the provider.
 *
 * @throws CommandFailure
 */
export async function readSubmission(
  given: SubmissionArguments,
  { providers, revisions }: OwnJobHostOptions,
  io: JobCommandIo,
): Promise<JobSubmitInput> {
  const { provider: id, files: directory, path: paths, workspace: workspaceId = "inputs", key } = given;
  const open = inputStream(given, io);
  if (given.request !== undefined) {
    if ([id, directory, paths, given.workspace, key, open, given.save].some((each) => each !== undefined))
      throw usage("--request: the file holds the whole request, expected nothing else of it");
    return parse(await readRequest(given.request, io.signal));
  }
  if (id === undefined) {
    if (open === undefined || directory !== undefined || key !== undefined || paths !== undefined)
      throw usage(
        "expected --provider, --files and --key, or a whole request by --request, --stdin or --input",
      );
    return parse(await readInput(open, io.signal));
  }
  if (directory === undefined || key === undefined)
    throw usage("--provider: expected --files and --key with it");
  const provider = providers.find((each) => each.id === id);
  if (provider === undefined) throw refusalFailure({ code: "PROVIDER_NOT_FOUND" });
  const value = (open === undefined ? {} : await readInput(open, io.signal)) as JsonValue;
  const configuration = { value, explicitPointers: explicitPointersOf(value) };
  const identity = { id, version: provider.version, manifestDigest: provider.manifestDigest };
  const requestOn = (revision: JobRevision, selected: readonly string[]): JobSubmitInput =>
    parse({
      provider: identity,
      input: { revision, paths: selected },
      configuration,
      submissionKey: key,
    });
  // The same request on a revision that is none, to find out what is wrong with it before anything is sealed.
  const { authorityId } = revisions;
  const none = { authorityId, workspaceId, revisionId: "none", treeDigest: digestOf("") };
  await admit(provider, requestOn(none, paths ?? []), io);
  await expectFolder(directory);
  const options = { workspaceId, directory, ...(paths && { paths }), signal: io.signal };
  const revision = await sealDirectory(revisions, options).catch((error: unknown) => {
    io.signal.throwIfAborted();
    const told = error instanceof JobFileError ? { message: error.message } : error;
    throw new CommandFailure(2, "input-not-sealed", describeError(told, io.environment));
  });
  const sealed = await revisions.list(revision, { signal: io.signal });
  return requestOn(revision, paths ?? sealed?.map(({ path }) => path) ?? []);
}

function parse(request: unknown): JobSubmitInput {
  try {
    return parseJobSubmitInput(request);
  } catch (error) {
    if (error instanceof TypeError) throw new CommandFailure(2, "invalid-input", error.message);
    throw error;
  }
}

async function admit(
  provider: JobProviderDescriptor,
  request: JobSubmitInput,
  io: JobCommandIo,
): Promise<void> {
  const { manifestDigest } = provider;
  const admission = await admitConfiguration({
    definition: runnableJobProvider(provider).configuration,
    providerManifestDigest: manifestDigest,
    seenManifestDigest: manifestDigest,
    configuration: request.configuration,
  }).catch((error: unknown) => {
    throw new CommandFailure(1, "provider-failed", `its schema: ${describeError(error, io.environment)}`);
  });
  if (!admission.ok) throw refusalFailure(admission);
}

async function expectFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) throw new CommandFailure(2, "input-not-sealed", "--files: expected a folder");
}

function usage(message: string): CommandFailure {
  return new CommandFailure(2, "invalid-usage", message);
}
