import type { JobsClient, SignalsClient } from "../../capability/index.ts";
import type { Trouble } from "../../tasks/jobs/jobs-queue.ts";
import type { JobArtifactStore } from "../ports/job-artifact-store.ts";
import type { JobRevisionStore } from "../ports/job-revision-store.ts";
import type { RunnableJobProvider } from "../provider/define-job-provider.ts";
import type { JobProviderDescriptor } from "../provider/job-provider-descriptor.ts";
import type { JobFact } from "../provider/job-requirement.ts";
import type { JobSession, LockingJobSession } from "./records/job-session.ts";
import type { Dispatch } from "./records/record-types.ts";

/** A provider of the host: what can be said of it, and what can be run. */
export interface HostedProvider {
  readonly descriptor: JobProviderDescriptor;
  readonly runnable: RunnableJobProvider;
}

/** Called with the id of a job that has new events; undefined: any job, as some may have been missed. */
export type JobListener = (id: string | undefined) => void;

/** What the parts of a host share. */
export interface HostParts {
  readonly hostId: string;
  readonly jobs: JobsClient;
  /** The queue of the Jobs Instance that carries this host's jobs. */
  readonly queue: string;
  readonly leaseSeconds: number;
  readonly signals: SignalsClient | undefined;
  readonly pollIntervalMs: number;
  /** The records, for calls of users. */
  readonly records: LockingJobSession;
  /** The records, for attempts and sweeps: on connections that no call of a user can use up. */
  readonly attemptRecords: JobSession;
  readonly trouble: Trouble;
  /** By id. */
  readonly providers: ReadonlyMap<string, HostedProvider>;
  readonly capabilities: Readonly<Record<string, JobFact>>;
  readonly revisions: JobRevisionStore;
  readonly artifacts: JobArtifactStore;
  /** The folder of this host's workspaces, absolute: no other host has it. Made when it is not there. */
  workspaces(): Promise<string>;
  /** Most lines of a job's log. */
  readonly logLimit: number;
  readonly onError: ((error: unknown) => void) | undefined;
  /** Enqueues the Jobs job of a recorded dispatch. Never throws: what is not dispatched now (false) stays recorded, and the sweep finds it. */
  dispatch(recorded: Dispatch): Promise<boolean>;
  /** Takes work that nobody waits for but `close`; what it rejects with has been told by whoever began it. */
  inBackground(work: Promise<unknown>): void;
  /** Calls back with each job that has new events. Returns what ends it. */
  watch(listener: JobListener): () => void;
  /** Resolves once the schema is verified and the Jobs capability proven to be usable by a worker, and the first sweep is done. */
  ready(): Promise<void>;
  /** Sweeps from now on, for one more worker; and for one less. */
  readonly sweeper: { join(): void; leave(): void };
}
