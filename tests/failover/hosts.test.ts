import { expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { SQL } from "bun";
import { type PostgresServer, startPostgres } from "../../host-fixtures/index.ts";
import { newJob, ok } from "../postgres/support/jobs.ts";
import { prepareJobsDatabase } from "../postgres/support/jobs-database.ts";
import { drivers, type JobsHost, startJobs, type TestDriver } from "../postgres/support/jobs-host.ts";
import { expectEachJobInOnePlace, observer } from "../postgres/support/observe.ts";
import { afterTestFile } from "../support/after-test-file.ts";
import { eventually } from "../task-faults/support/eventually.ts";
import type { TellingProcess, ToldEvent } from "../task-faults/support/telling-process.ts";
import { type HostWork, meetingPort, startHostProcess } from "./support/host-process.ts";
import { type Network, networkProblem, startNetwork } from "./support/network.ts";

const problem = networkProblem();
const cutting = problem === undefined ? test.concurrent : test.skip;
const named = (name: string): string => (problem === undefined ? name : `${name} (skipped: ${problem})`);

const template = "template_jobs";
const networks: Network[] = [];
let server: PostgresServer;
if (problem === undefined) {
  for (const _ of ["apart", ...drivers]) networks.push(startNetwork(2));
  afterTestFile(async () => {
    for (const network of networks) await network[Symbol.asyncDispose]();
  });
  const addresses = ["127.0.0.1", ...networks.map(({ address }) => address)];
  server = await startPostgres({
    settings: { listen_addresses: addresses.join(","), fsync: "off", full_page_writes: "off" },
  });
  afterTestFile(() => server.stop());
  appendFileSync(join(server.dataDirectory, "pg_hba.conf"), "host all all 198.18.0.0/16 scram-sha-256\n");
  await using admin = observer(server.url, 1);
  await admin`select pg_reload_conf()`;
  await prepareJobsDatabase(await server.createDatabase(template));
}

interface World extends AsyncDisposable {
  readonly network: Network;
  readonly sql: SQL;
  /** Hosts of the same Instance, one on each host of the network. */
  readonly first: TellingProcess;
  readonly second: TellingProcess;
  /** Here, beside the database. */
  readonly near: JobsHost;
  enqueue(work: HostWork): Promise<string>;
}

async function openWorld(network: Network, driver: TestDriver, leaseSeconds: number): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const url = await server.createDatabase(undefined, { template });
  const sql = observer(url, 1);
  stack.defer(() => sql.close());
  const far = new URL(url);
  far.hostname = network.address;
  const [first, second] = network.hosts.map((host) =>
    stack.use(startHostProcess(host, { url: far.href, driver, leaseSeconds })),
  ) as [TellingProcess, TellingProcess];
  const near = stack.use(await startJobs({ url, configuration: { lease_seconds: leaseSeconds } }));
  await Promise.all([first, second].map((each) => each.told("ready")));
  const all = stack.move();
  return {
    network,
    sql,
    first,
    second,
    near,
    enqueue: async (work) => ok(await near.producer.enqueue(newJob({ payload: { ...work } }))).job_id,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const of = (jobId: string, attempt: number) => (event: ToldEvent) =>
  event.jobId === jobId && event.attempt === attempt;

/** What went wrong without anybody having caught it. */
const uncaught = ({ first, second }: World): ToldEvent[] =>
  [...first.events, ...second.events].filter(({ event }) => event.startsWith("un"));

async function succeeded({ near }: World, job_id: string): Promise<void> {
  await eventually("the job to succeed", async () => {
    return ok(await near.observer.inspect({ job_id })).status === "succeeded";
  });
}

cutting.each(drivers)(
  named(
    "a worker over %s that is cut off ends its handler before its lease, another completes the job, and the link's return suffices",
  ),
  async (driver) => {
    const network = networks[1 + drivers.indexOf(driver)] as Network;
    await using world = await openWorld(network, driver, 3);
    const { first, second, sql, near } = world;
    const [host] = network.hosts as [(typeof network.hosts)[0]];
    const port = Number(new URL(server.url).port);
    first.ask({ do: "work" });
    const job = await world.enqueue({ hold: true, ms: 0 });
    await first.told("entered", of(job, 1));
    second.ask({ do: "work" });
    await second.told("working");
    expect(await host.reaches(network.address, port)).toBe(true);

    host.link("down");
    const aborted = await first.told("aborted", of(job, 1));
    expect(aborted.reason).toContain("ClaimLost");
    const taken = await second.told("entered", of(job, 2));
    await succeeded(world, job);
    // A job that was taken back is due from the end of its lease on. The database counts, whatever the worker has heard of its renewals.
    const leaseEnd = Date.parse(ok(await near.observer.inspect({ job_id: job })).available_at);
    expect(Number(aborted.at)).toBeLessThan(leaseEnd);
    expect(Number(taken.at)).toBeGreaterThanOrEqual(leaseEnd);
    expect(await host.reaches(network.address, port)).toBe(false);

    host.link("up");
    first.ask({ do: "settle", jobId: job });
    const settled = await first.told("settled");
    expect(settled.result).toBe("invalid_lease");
    expect(ok(await near.observer.inspect({ job_id: job }))).toMatchObject({
      status: "succeeded",
      attempts: 2,
      last_failure_code: "lease_expired",
    });
    expect(second.events.filter(({ event }) => event === "left")).toHaveLength(1);

    // The other is gone for good: what works now is the one that was cut off.
    second.signal("SIGKILL");
    await second.exited;
    const next = await world.enqueue({ hold: false, ms: 0 });
    await first.told("left", of(next, 1));
    await succeeded(world, next);
    expect(uncaught(world)).toEqual([]);
    expect(await expectEachJobInOnePlace(sql)).toBe(2);
  },
  60_000,
);

cutting(
  named("workers that are cut off from each other alone go on as before"),
  async () => {
    const network = networks[0] as Network;
    const leaseSeconds = 4;
    await using world = await openWorld(network, "bun", leaseSeconds);
    const { first, second, sql } = world;
    const [one, other] = network.hosts as [(typeof network.hosts)[0], (typeof network.hosts)[0]];
    expect(await one.reaches(other.address, meetingPort)).toBe(true);
    network.keepApart(true);
    const [there, back] = await Promise.all([
      one.reaches(other.address, meetingPort),
      other.reaches(one.address, meetingPort),
    ]);
    expect([there, back]).toEqual([false, false]);

    first.ask({ do: "work" });
    second.ask({ do: "work" });
    // Longer than a lease: each has to renew. One worker takes one at a time, so each takes one.
    const work = { hold: false, ms: leaseSeconds * 1000 + 500 };
    const jobs = [await world.enqueue(work), await world.enqueue(work)];
    await Promise.all(jobs.map((job) => succeeded(world, job)));
    for (const { events } of [first, second]) {
      const entered = events.filter(({ event }) => event === "entered");
      expect(entered.map(({ attempt }) => attempt)).toEqual([1]);
      expect(events.filter(({ event }) => event === "aborted" || event === "error")).toEqual([]);
    }
    expect(uncaught(world)).toEqual([]);
    expect(await expectEachJobInOnePlace(sql)).toBe(2);
  },
  60_000,
);
