import { quoteIdentifier } from "../../plugin/store/schema/identifier.ts";
import { placeOf } from "../../tasks/advise-on-database.ts";
import { ChannelWatch } from "../../tasks/jobs/channel-watch.ts";
import { createTrouble } from "../../tasks/jobs/create-trouble.ts";
import { verifySchema } from "../../tasks/jobs/migration/verify-schema.ts";
import { proveRoles } from "../../tasks/jobs/prove-roles.ts";
import { RecordDatabase } from "../../tasks/jobs/records/record-database.ts";
import { succeedOnce } from "../../tasks/jobs/succeed-once.ts";
import { Sweeper } from "../../tasks/jobs/sweeper.ts";
import { runnableJobProvider } from "../provider/define-job-provider.ts";
import { asHostError } from "./as-host-error.ts";
import { workspacesOf } from "./attempt/workspaces-of.ts";
import { dispatchJob } from "./dispatch-job.ts";
import { type CheckedJobHostOptions, recordsOf } from "./host-options.ts";
import type { HostedProvider, HostParts } from "./host-parts.ts";
import { JobHostError } from "./job-host-error.ts";
import { jobHostSchema } from "./migration/job-host-schema.ts";
import { eventChannel } from "./records/event-channel.ts";
import type { JobSession, LockingJobSession } from "./records/job-session.ts";
import { sweepJobs } from "./sweep-jobs.ts";

/** A host's parts, and how calls of it are run and ended. */
export interface OpenHost {
  readonly parts: HostParts;
  /** Aborts when the host begins to close. */
  readonly closing: AbortSignal;
  isClosed(): boolean;
  /** Runs a call on a verified schema; `close` waits for it. What the database says becomes a `JobHostError`. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Ends first what `end` ends, then waits for calls and work in the background, then closes the connections. */
  close(end: () => Promise<void>): Promise<void>;
}

/** Builds the parts of a host over its connections. Connects to nothing yet. @throws JobHostError `invalid-options` */
export function openHost(options: CheckedJobHostOptions, clock: string): OpenHost {
  const { database: where, jobs, queue, leaseSeconds, sweepIntervalSeconds } = options;
  const database = new RecordDatabase(recordsOf(where));
  const place = placeOf(where.connectionString);
  // Whatever users ask for, and whoever holds all of a borrowed pool: attempts keep their leases, and events are heard.
  const apart = new RecordDatabase(where.pool === undefined ? recordsOf(where) : { beside: where.pool });
  const sessionOn = (connections: RecordDatabase): JobSession => ({
    hostId: options.hostId,
    clock,
    table: (name) => `${quoteIdentifier(where.schema)}.${name}`,
    query: (text, values) => connections.query(text, values),
  });
  const records: LockingJobSession = {
    ...sessionOn(database),
    alone: (lock, work) => database.alone(lock, ({ query }) => work({ ...sessionOn(database), query })),
  };
  const attemptRecords = sessionOn(apart);
  const trouble = createTrouble(options.onError);
  const dispatching = { jobs, queue, leaseSeconds, records: attemptRecords, trouble };
  const sweep = (): Promise<void> => sweepJobs(dispatching, { dispatchAgainSeconds: sweepIntervalSeconds });
  const sweeper = new Sweeper(sweep, trouble, sweepIntervalSeconds * 1000);
  const events = new ChannelWatch(apart, trouble, eventChannel(where.schema));
  const verified = succeedOnce(() => verifySchema(database, jobHostSchema, where.schema));
  const proven = succeedOnce(() => proveRoles(jobs));
  const swept = succeedOnce(() => sweeper.sweep());
  const calls = new Set<Promise<unknown>>();
  const closing = new AbortController();
  const keep = <T>(work: Promise<T>): Promise<T> => {
    calls.add(work);
    return work.finally(() => calls.delete(work));
  };

  const parts: HostParts = {
    hostId: options.hostId,
    jobs,
    queue,
    leaseSeconds,
    signals: options.signals,
    pollIntervalMs: options.pollIntervalMs,
    records,
    attemptRecords,
    trouble,
    providers: hostedProviders(options),
    capabilities: Object.freeze({ ...options.capabilities }),
    revisions: options.revisions,
    artifacts: options.artifacts,
    workspaces: workspacesOf(attemptRecords, options.workspaceDirectory),
    logLimit: options.logLimit,
    onError: options.onError,
    dispatch: (recorded) => dispatchJob(dispatching, recorded),
    inBackground: (work) => void keep(work).catch(() => undefined),
    watch: (listener) =>
      events.watch((payload) => {
        // Several jobs may have moved in one statement, and an empty text stands for too many to name.
        if (payload === undefined || payload === "") listener(undefined);
        else for (const id of payload.split(" ")) listener(id);
      }),
    async ready() {
      await Promise.all([verified(), proven()]);
      await swept(); // so that a worker that has just started finds what was accepted and not dispatched
    },
    sweeper,
  };
  return {
    parts,
    closing: closing.signal,
    isClosed: () => closing.signal.aborted,
    async run(work) {
      if (closing.signal.aborted) throw new JobHostError("closed");
      return keep(verified().then(work)).catch((cause: unknown) => {
        throw asHostError(cause, { place, grants });
      });
    },
    async close(end) {
      closing.abort(new JobHostError("closed"));
      try {
        await end();
      } finally {
        while (calls.size > 0) await Promise.allSettled(calls);
        await Promise.all([sweeper.close(), events.close()]);
        await Promise.all([database.close(), apart.close()]);
      }
    },
  };
}

const grants = "migrate as the schema's owner, with the host's role as runtimeRole";

function hostedProviders({ providers }: CheckedJobHostOptions): ReadonlyMap<string, HostedProvider> {
  const hosted = new Map<string, HostedProvider>();
  for (const [index, descriptor] of providers.entries()) {
    try {
      const runnable = runnableJobProvider(descriptor);
      if (hosted.has(descriptor.id)) throw new TypeError("the id stands twice: ids are unique in a host");
      hosted.set(descriptor.id, { descriptor, runnable });
    } catch (error) {
      const cause = new TypeError(
        `providers.${index}: ${error instanceof Error ? error.message : "refused"}`,
      );
      throw new JobHostError("invalid-options", { cause });
    }
  }
  return hosted;
}
