import { type PostgresServer, startPostgres } from "../../../host-fixtures/index.ts";
import { type Proxy, startProxy } from "../../faults/support/proxy.ts";
import { prepareJobsDatabase } from "../../postgres/support/jobs-database.ts";
import { drivers, type JobsHost, startJobs, type TestDriver } from "../../postgres/support/jobs-host.ts";
import { observer } from "../../postgres/support/observe.ts";
import { afterTestFile } from "../../support/after-test-file.ts";
import { eventually } from "../../task-faults/support/eventually.ts";
import { killServer } from "./kill-server.ts";
import { type Standby, startStandby } from "./start-standby.ts";

/** The queues of every Instance here. */
export const queues: readonly string[] = ["mail", "other", "third", "fourth"];

/** A composed host whose address of the database is a proxy's, as a service's name is. */
export interface Service {
  readonly driver: TestDriver;
  /** Its database on the primary. */
  readonly url: string;
  readonly proxy: Proxy;
  readonly jobs: JobsHost;
}

/** A primary, a fresh standby of it, and a service for each driver, on a database of its own. */
export interface Pair extends AsyncDisposable {
  /** A superuser's connection to the primary's database `postgres`. */
  readonly primaryUrl: string;
  readonly standby: Standby;
  readonly services: readonly Service[];
  /** Commits wait for the standby from now on. */
  synchronize(): Promise<void>;
  /** Kills the primary, promotes the standby and lets the services' addresses lead there. */
  failOver(): Promise<void>;
}

let started: Promise<PostgresServer> | undefined;

/** One for the file: a new one costs more than to start it again. */
function givenPrimary(): Promise<PostgresServer> {
  started ??= startPrimary();
  return started;
}

async function startPrimary(): Promise<PostgresServer> {
  // What a killed process has written is kept by the machine, so nothing here depends on fsync.
  const settings = { max_connections: 80, fsync: "off", full_page_writes: "off" };
  const primary = await startPostgres({ settings });
  afterTestFile(() => primary.stop());
  await prepareJobsDatabase(await primary.createDatabase("template_jobs"));
  return primary;
}

/** One at a time: they share the primary. */
export async function startPair(): Promise<Pair> {
  const primary = await givenPrimary();
  const stack = new AsyncDisposableStack();
  let isUp = true;
  stack.defer(async () => {
    if (!isUp) await primary.restart({ mode: "immediate" });
    await waitForStandbys(primary, "");
  });
  const services: Service[] = [];
  let standby: Standby;
  try {
    standby = stack.use(await startStandby(primary));
    for (const driver of drivers) {
      const url = await primary.createDatabase(undefined, { template: "template_jobs" });
      const proxy = stack.use(await startProxy(url));
      const jobs = await startJobs({
        url: proxy.url,
        driver,
        configuration: { queues },
        stopTimeoutMs: 3000,
      });
      stack.use(jobs);
      services.push({ driver, url, proxy, jobs });
    }
    await standby.caughtUp();
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
  return {
    primaryUrl: primary.url,
    standby,
    services,
    synchronize: () => waitForStandbys(primary, standby.name),
    async failOver() {
      isUp = false;
      await killServer(primary);
      await standby.promote();
      for (const { proxy, url } of services) proxy.pointAt(standby.at(url));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function waitForStandbys(primary: PostgresServer, names: string): Promise<void> {
  await using sql = observer(primary.url, 1);
  await sql.unsafe(`alter system set synchronous_standby_names = '${names}'`);
  await sql`select pg_reload_conf()`;
  const wanted = names === "" ? "async" : "sync";
  await eventually(`a replication that is ${wanted}`, async () => {
    const rows: { sync_state: string }[] = await sql`select sync_state from pg_stat_replication`;
    return rows.every((row) => row.sync_state === wanted) && (names === "" || rows.length > 0);
  });
}
