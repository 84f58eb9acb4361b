import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  admitConfiguration,
  digestOf,
  type JobEffectiveConfiguration,
  type JobProviderDescriptor,
  type JobRevisionFile,
  type JobSnapshot,
  type JsonObject,
} from "lenso-jobs-plugin/job-provider";
import { createFileArtifactStore, createFileRevisionStore } from "lenso-jobs-plugin/job-provider/files";
import { runnableJobProvider } from "../../../job-provider/provider/define-job-provider.ts";
import { createFolderWorkshop } from "../provider/create-folder-workshop.ts";
import { createSlicerProvider } from "../provider/create-slicer-provider.ts";
import { type AttemptChanges, type AttemptEnd, type AttemptScene, runAttempt } from "./run-attempt.ts";

/** What a job is on the bench. */
export interface BenchJob {
  /** Files of the input by rooted path, all of them selected. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Supplied on purpose; defaults fill the rest. */
  readonly settings?: JsonObject;
}

/** A job without a host: real files and stores, and attempts that record what they do. Disposing of it removes everything. */
export interface Bench
  extends Pick<AttemptScene, "folder" | "artifacts" | "checkpoints" | "progress" | "logs">,
    AsyncDisposable {
  readonly provider: JobProviderDescriptor;
  /** Runs the next attempt. */
  readonly attempt: (changes?: AttemptChanges) => Promise<AttemptEnd>;
  /** Digests of what is published, by path. */
  readonly digests: () => Record<string, string>;
  /** Asks a query or a command, as a host does in the process that was asked. */
  readonly call: (name: string, value: JsonObject, commandId?: string) => Promise<unknown>;
}

/** Seals the files and admits the settings. */
export async function openBench({ files, settings = {} }: BenchJob): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), "slicer-bench-"));
  const provider = createSlicerProvider({ workshop: createFolderWorkshop(join(folder, "workshop")) })();
  const configuration = await admit(provider, settings).catch(async (error: unknown) => {
    await rm(folder, { recursive: true });
    throw error;
  });
  await mkdir(join(folder, "attempts"));
  const revisions = createFileRevisionStore({ directory: join(folder, "revisions"), authorityId: "bench" });
  const revision = await revisions.seal({ workspaceId: "models", files: Object.entries(files).map(fileOf) });
  const runnable = runnableJobProvider(provider);
  const scene: AttemptScene = {
    folder,
    runnable,
    configuration,
    revisions,
    input: { revision, paths: Object.keys(files) },
    store: createFileArtifactStore({ directory: join(folder, "artifacts") }),
    artifacts: new Map(),
    checkpoints: [],
    progress: [],
    logs: [],
  };
  const snapshot: JobSnapshot = {
    reference: { hostId: "bench", jobId: "job" },
    revision: 2,
    provider: { id: provider.id, version: provider.version, manifestDigest: provider.manifestDigest },
    input: scene.input,
    configuration,
    state: "running",
  };
  let attempts = 0;
  return {
    ...scene,
    provider,
    attempt: (changes = {}) => {
      attempts += 1;
      return runAttempt(scene, String(attempts), changes);
    },
    digests: () => Object.fromEntries(Array.from(scene.artifacts, ([path, { digest }]) => [path, digest])),
    async call(name, value, commandId = "command-1") {
      const extension = [...runnable.queries, ...runnable.commands].find((each) => each.name === name);
      if (!extension) throw new Error(`no query or command ${name}`);
      const given = await extension.inputSchema["~standard"].validate(value);
      if (given.issues) return "INPUT_INVALID";
      const artifacts = [...scene.artifacts.values()];
      const { signal } = new AbortController();
      const call = { input: given.value, snapshot, artifacts, signal, commandId };
      const result = await extension.resultSchema["~standard"].validate(await extension.execute(call));
      if (result.issues) throw new Error(`the result is refused: ${JSON.stringify(result.issues)}`);
      return result.value;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function admit(
  provider: JobProviderDescriptor,
  settings: JsonObject,
): Promise<JobEffectiveConfiguration> {
  const admission = await admitConfiguration({
    definition: runnableJobProvider(provider).configuration,
    providerManifestDigest: provider.manifestDigest,
    seenManifestDigest: provider.manifestDigest,
    configuration: { value: settings, explicitPointers: Object.keys(settings).map((key) => `/${key}`) },
  });
  if (!admission.ok) throw new Error(`${admission.code} ${JSON.stringify(admission.issues)}`);
  return admission.configuration;
}

function fileOf([path, content]: readonly [string, string | Uint8Array]): JobRevisionFile {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  async function* open(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  return { path, length: bytes.length, digest: digestOf(bytes), open };
}
