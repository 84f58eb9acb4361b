import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { type Receiver, startReceiver } from "../../../examples/notify/testing/start-receiver.ts";
import { databaseClock } from "../../../host-fixtures/index.ts";
import type { JobHost } from "../../../job-provider/host/index.ts";
import { jobHostTemplate, leaseSeconds } from "../../../job-provider/host/testing/job-host-composition.ts";
import type { JobReference, JobSubmitInput } from "../../../job-provider/index.ts";
import { testDatabase } from "../../support/test-database.ts";
import { type FaultOrder, sealOrders } from "./fault-orders.ts";
import { type HostProcess, startHostProcess } from "./host-process.ts";
import { openFaultHost } from "./open-fault-host.ts";
import { watchLateWrites } from "./watch-late-writes.ts";

/** A database that watches its writers, a receiver of notices, and a job host in this process. */
export interface FaultWorld extends AsyncDisposable {
  readonly url: string;
  /** The records of the job host. */
  readonly sql: SQL;
  /** Where everything lies that is in files. */
  readonly directory: string;
  readonly receiver: Receiver;
  readonly host: JobHost;
  /** Troubles told to the host's `onError`. */
  readonly told: unknown[];
  /** A submission of that order, under a key of its own unless one is given. */
  submission(order: FaultOrder, submissionKey?: string): JobSubmitInput;
  /** An accepted job, which may be interrupted as often as a test likes. */
  accept(order: FaultOrder): Promise<JobReference>;
  /** A host in a process of its own, with the same stores; `url` is its way to the database. Killed with the world. */
  process(options?: { readonly url?: string }): HostProcess;
  /** Moves the clock past every lease, between two statements on jobs: each has either passed its guards before, or looks at the clock afterwards. */
  lapse(): Promise<void>;
  /** The states that a job went through, each with its code if it has one. */
  story(reference: JobReference): Promise<string[]>;
}

/** Opens a world without any job. */
export async function openFaultWorld(): Promise<FaultWorld> {
  const { url } = await testDatabase(jobHostTemplate);
  await watchLateWrites(url);
  const directory = await mkdtemp(join(tmpdir(), "job-faults-"));
  const sql = new SQL(url, { max: 2, connection: { search_path: "job_host" } });
  const clock = databaseClock(url);
  const receiver = await startReceiver();
  const told: unknown[] = [];
  const shared = { directory, receiver: receiver.url.href };
  const opened = await openFaultHost({ url, ...shared, onError: (error) => told.push(error) });
  const { host, providers } = opened;
  const source = join(directory, "orders");
  await mkdir(source);
  const revision = await sealOrders(source, opened.revisions);
  const processes: HostProcess[] = [];
  let keys = 0;

  const world: FaultWorld = {
    url,
    sql,
    directory,
    receiver,
    host,
    told,
    submission({ provider, path, settings }, submissionKey = `order-${++keys}`) {
      const descriptor = providers.find(({ id }) => id === provider);
      if (descriptor === undefined) throw new Error(`no provider ${provider}`);
      const { id, version, manifestDigest } = descriptor;
      return {
        provider: { id, version, manifestDigest },
        input: { revision, paths: [path] },
        configuration: {
          value: settings,
          explicitPointers: Object.keys(settings).map((key) => `/${key}`),
        },
        submissionKey,
      };
    },
    async accept(order) {
      const outcome = await host.submit(world.submission(order));
      if (outcome.status !== "accepted") throw new Error(`the job was not accepted: ${outcome.status}`);
      await sql`update job set max_attempts = 1000 where id = ${outcome.reference.jobId}`;
      return outcome.reference;
    },
    process(options = {}) {
      const started = startHostProcess({ url, ...shared, ...options });
      processes.push(started);
      return started;
    },
    lapse: () =>
      sql.begin(async (transaction) => {
        await transaction`lock table job in exclusive mode`;
        await clock.advance((leaseSeconds + 1) * 1000);
      }),
    async story({ jobId }) {
      const rows: { state: string; code: string | null }[] =
        await sql`select state, code from event where job = ${jobId} order by revision`;
      return rows.map(({ state, code }) => (code === null ? state : `${state} ${code}`));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((each) => each.kill()));
      await opened[Symbol.asyncDispose]();
      await Promise.all([sql.close(), clock.close(), receiver[Symbol.asyncDispose]()]);
      await rm(directory, { recursive: true, force: true });
    },
  };
  return world;
}
