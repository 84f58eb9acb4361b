import { join } from "node:path";
import type {
  JobArtifactPublication,
  JobArtifactStore,
  JobAttemptServices,
  JobCheckpointService,
  JobEffectiveConfiguration,
  JobInput,
  JobLogEntry,
  JobProgressUpdate,
  JobReadableArtifact,
  JobRevision,
  JobRevisionStore,
} from "lenso-jobs-plugin/job-provider";
import { type AttemptWorkspace, openAttemptWorkspace } from "lenso-jobs-plugin/job-provider/files";
import type { RunnableJobProvider } from "../../../job-provider/provider/define-job-provider.ts";
import type { LayerCheckpoint } from "../provider/layer-checkpoint.ts";
import type { SlicerResult } from "../provider/slicer-result.ts";

/** A checkpoint as a host keeps it, with what was published until then. */
export interface KeptCheckpoint {
  readonly revision: JobRevision;
  readonly metadata: LayerCheckpoint;
  readonly artifacts: ReadonlyMap<string, JobReadableArtifact>;
}

/** What attempts run with, and what they leave. */
export interface AttemptScene {
  readonly folder: string;
  readonly runnable: RunnableJobProvider;
  readonly input: JobInput;
  readonly configuration: JobEffectiveConfiguration;
  readonly revisions: JobRevisionStore;
  readonly store: JobArtifactStore;
  /** By path. */
  readonly artifacts: Map<string, JobReadableArtifact>;
  readonly checkpoints: KeptCheckpoint[];
  readonly progress: JobProgressUpdate[];
  readonly logs: JobLogEntry[];
}

/** When an attempt ends early. */
export interface AttemptChanges {
  /** Publishes that succeed; from the next one on every service refuses, as for an attempt that lost its lease. */
  readonly loseAfter?: number;
  /** Aborts the attempt's signal with the publish of that number. */
  readonly abortAfter?: number;
}

/** How an attempt ended. */
export interface AttemptEnd {
  readonly result?: SlicerResult;
  readonly error?: Error;
  /** Paths of what this attempt published. */
  readonly published: readonly string[];
}

/** The error of an attempt that lost its lease. */
export class AttemptLost extends Error {
  override readonly name = "AttemptLost";
}

/** Runs one attempt, from the newest compatible checkpoint if there is one, with a real workspace and real stores. */
export async function runAttempt(
  scene: AttemptScene,
  attemptId: string,
  changes: AttemptChanges,
): Promise<AttemptEnd> {
  const { runnable, input, configuration, revisions, artifacts } = scene;
  const { recovery } = runnable;
  if (recovery.mode !== "checkpoint") throw new Error("expected a checkpoint provider");
  const newest = scene.checkpoints.findLastIndex(({ metadata }) => recovery.compatible(metadata));
  scene.checkpoints.splice(newest + 1); // what is passed over counts no longer
  const kept = scene.checkpoints[newest];
  artifacts.clear();
  for (const [path, artifact] of kept?.artifacts ?? []) artifacts.set(path, artifact);
  const job = { hostId: "bench", jobId: "job" };
  const lease = { isLost: false };
  const assertLive = (): void => {
    if (lease.isLost) throw new AttemptLost("the attempt has lost its lease");
  };
  await using workspace = await openAttemptWorkspace({
    directory: join(scene.folder, "attempts"),
    job,
    attemptId,
    revisions,
    input,
    assertLive,
    ...(kept && { checkpoint: kept.revision }),
  });
  const published: string[] = [];
  const services = {
    job,
    attemptId,
    workspace: workspace.files,
    ...servicesOf({ ...scene, workspace, published, assertLive, lease, changes }),
  };
  const resume = kept && { revision: kept.revision, metadata: kept.metadata };
  const given = { input, configuration: configuration.value, ...(resume && { resume }) };
  let raw: unknown;
  try {
    raw = await runnable.execute(given, services);
  } catch (error) {
    if (error instanceof Error) return { error, published };
    throw error;
  }
  const validation = await runnable.resultSchema["~standard"].validate(raw);
  if (validation.issues) throw new Error(`the result is refused: ${JSON.stringify(validation.issues)}`);
  return { result: validation.value as SlicerResult, published };
}

interface Recording extends AttemptScene {
  readonly workspace: AttemptWorkspace;
  readonly published: string[];
  readonly assertLive: () => void;
  readonly lease: { isLost: boolean };
  readonly changes: AttemptChanges;
}

function servicesOf(
  recording: Recording,
): Omit<JobAttemptServices & JobCheckpointService, "job" | "attemptId" | "workspace"> {
  const { store, artifacts, workspace, published, assertLive, lease, changes } = recording;
  const { loseAfter = Number.POSITIVE_INFINITY, abortAfter } = changes;
  const aborting = new AbortController();
  return {
    signal: aborting.signal,
    async reportProgress(update) {
      assertLive();
      recording.progress.push(update);
    },
    async writeLog(entry) {
      assertLive();
      recording.logs.push(entry);
    },
    async publishArtifact<Role extends string>(publication: JobArtifactPublication<Role>) {
      lease.isLost ||= published.length >= loseAfter;
      assertLive();
      const { length, digest, open } = await workspace.source(publication.path);
      await store.put({ length, digest }, open);
      const artifact = { ...publication, id: digest, length, digest };
      const read = async function* () {
        yield* (await store.read({ length, digest })) ?? [];
      };
      artifacts.set(publication.path, { ...artifact, read });
      published.push(publication.path);
      if (published.length === abortAfter) aborting.abort(new Error("the worker stops"));
      return artifact;
    },
    publishCheckpoint: (publication) => {
      assertLive();
      return keepCheckpoint(recording, publication);
    },
  };
}

async function keepCheckpoint(
  { runnable: { recovery }, checkpoints, revisions, artifacts, workspace }: Recording,
  { paths, metadata, parent }: Parameters<JobCheckpointService["publishCheckpoint"]>[0],
): Promise<JobRevision> {
  if (parent?.revisionId !== checkpoints.at(-1)?.revision.revisionId) throw new TypeError("a wrong parent");
  if (recovery.mode !== "checkpoint") throw new TypeError("not a checkpoint provider");
  const validation = await recovery.metadataSchema["~standard"].validate(metadata);
  if (validation.issues) throw new TypeError("metadata that its schema refuses");
  const files = await Promise.all(paths.map(workspace.source));
  const revision = await revisions.seal({ workspaceId: "checkpoints", files });
  checkpoints.push({
    revision,
    metadata: validation.value as LayerCheckpoint,
    artifacts: new Map(artifacts),
  });
  return revision;
}
