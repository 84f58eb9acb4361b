import { afterAll, beforeAll, expect, test } from "bun:test";
import type { SQL } from "bun";
import { type PostgresServer, startPostgres } from "../../host-fixtures/index.ts";
import { type Proxy, startProxy } from "../faults/support/proxy.ts";
import { observer } from "../postgres/support/observe.ts";
import { auditQueue, expectEachEndedOnce } from "./support/audit.ts";
import { eventually } from "./support/eventually.ts";
import { prepareFaultDatabase } from "./support/fault-database.ts";
import { lapseClaims } from "./support/lapse-claims.ts";
import { openProviders, type ProviderKind, type Providers, providerKinds } from "./support/open-provider.ts";
import { type Production, startProducing } from "./support/produce.ts";
import { startWorkerProcess, type WorkerProcess } from "./support/worker-process.ts";

/** A worker process and producers of one provider, which live through every test of this file. */
interface Line {
  readonly kind: ProviderKind;
  readonly url: string;
  readonly sql: SQL;
  readonly proxy: Proxy;
  readonly worker: WorkerProcess;
  readonly providers: Providers;
  readonly production: Production;
}

// A server of its own, since these tests take it down.
let server: PostgresServer;
let lines: readonly Line[] = [];
const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);

beforeAll(async () => {
  const binaries = process.env.LENSO_TEST_POSTGRES_BINARIES;
  server = await startPostgres({ ...(binaries && { binaries }), settings: { max_connections: 100 } });
  process.on("unhandledRejection", note);
  lines = await Promise.all(providerKinds.map(startLine));
}, 120_000);

afterAll(async () => {
  process.off("unhandledRejection", note);
  for (const { worker, providers, proxy, sql } of lines) {
    await worker[Symbol.asyncDispose]();
    await providers.close();
    await proxy.close();
    await sql.close();
  }
  await server.stop();
}, 120_000);

async function startLine(kind: ProviderKind): Promise<Line> {
  const url = await server.createDatabase();
  await prepareFaultDatabase(url);
  const proxy = await startProxy(url);
  const providers = await openProviders({ kind, url: proxy.url, queues: ["load"] });
  const worker = startWorkerProcess({
    kind,
    url,
    workers: [
      { queue: "load", proxyUrl: proxy.url, behaviour: { do: "work", ms: 5 }, concurrency: 8, quiet: true },
    ],
  });
  await worker.told("started");
  const production = startProducing(providers, "load");
  return { kind, url, sql: observer(url, 2), proxy, worker, providers, production };
}

/** Resolves when so many more jobs have succeeded. */
async function progress({ kind, sql }: Line, jobs = 10): Promise<void> {
  const succeeded = async (): Promise<number> => (await auditQueue(sql, "load")).last["succeeded"] ?? 0;
  let before: number | undefined;
  const done = async (): Promise<boolean> => {
    const now = await succeeded().catch(() => undefined); // this connection, too, breaks
    before ??= now;
    return now !== undefined && before !== undefined && now >= before + jobs;
  };
  await eventually(`${kind} to work ${jobs} jobs`, done);
}

/** Puts every line through a fault that has to be felt, and lets it work afterwards. */
async function through(fault: (line: Line) => Promise<void>): Promise<void> {
  await Promise.all(
    lines.map(async (line) => {
      await progress(line);
      await fault(line);
      await progress(line);
      expect(line.worker.events.filter(({ event }) => event.startsWith("un"))).toEqual([]);
    }),
  );
  expect(unhandled).toEqual([]);
}

/** How often the worker has told of trouble. */
const troubles = ({ worker }: Line): number => worker.events.filter(({ event }) => event === "error").length;

/** How often a producer has been refused. */
const refusals = ({ production }: Line): number => production.refusals.get("provider-unavailable") ?? 0;

/** Resolves when the worker has told of trouble since then. */
const troubled = async (line: Line, since: number): Promise<void> =>
  eventually(`${line.kind} to tell of trouble`, async () => troubles(line) > since);

const killBackends =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";

test.each(["fast", "immediate"] as const)(
  "a database that restarts (%s) under load: the worker works again by itself",
  async (mode) => {
    let restarted: Promise<void> | undefined;
    await through(() => (restarted ??= server.restart({ mode })));
  },
  120_000,
);

test("connections that are killed again and again: the worker works again by itself", async () => {
  await through(async (line) => {
    for (let round = 0; round < 2; round += 1) {
      await line.sql.unsafe(killBackends).catch(() => undefined);
      await progress(line, 3);
    }
  });
}, 120_000);

test("a database that is read-only for a while: connections that cannot write are not kept", async () => {
  const admin = observer(server.url, 1);
  await through(async (line) => {
    const database = new URL(line.url).pathname.slice(1);
    const before = troubles(line);
    const refused = refusals(line);
    await admin.unsafe(`alter database "${database}" set default_transaction_read_only = on`);
    await line.sql.unsafe(killBackends).catch(() => undefined);
    await troubled(line, before);
    await eventually(`${line.kind} to refuse a producer`, async () => refusals(line) > refused);
    await admin.unsafe(`alter database "${database}" reset default_transaction_read_only`);
  });
  await admin.close();
}, 120_000);

test("connections that are refused for a while: the worker does not give up", async () => {
  await through(async (line) => {
    const before = troubles(line);
    line.proxy.mode = "refuse";
    line.proxy.cut();
    await troubled(line, before);
    await Bun.sleep(1000); // long enough for several tries to fail
    expect(line.worker.events.filter(({ message }) => message?.includes("ended with a failure"))).toEqual([]);
    line.proxy.mode = "forward";
  });
}, 120_000);

test("answers that are lost again and again: the worker works again by itself", async () => {
  await through(async (line) => {
    for (let round = 0; round < 2; round += 1) {
      line.proxy.mode = "dropReplies";
      await Bun.sleep(100); // statements commit meanwhile, and nobody is told
      line.proxy.cut();
      line.proxy.mode = "forward";
      await progress(line, 3);
    }
  });
}, 120_000);

test("after all of it no job is lost, none has ended twice, and the worker ends by itself when told to", async () => {
  await Promise.all(
    lines.map(async ({ kind, sql, production, worker }) => {
      await production.stop();
      await eventually(
        `${kind} to work all jobs`,
        async () => {
          // What a lost claim holds would be held for pg-boss's ten seconds.
          if (kind === "pg-boss") await lapseClaims(sql, kind);
          await Bun.sleep(100);
          return (await auditQueue(sql, "load")).last["succeeded"] === production.accepted.size;
        },
        30_000,
      );
      await expectEachEndedOnce(sql, "load", production.accepted.size);
      expect([...production.refusals.keys()]).toEqual(["provider-unavailable"]);
      worker.signal("SIGTERM");
      expect(await worker.exited).toBe(0);
      expect(worker.events.filter(({ event }) => event.startsWith("un"))).toEqual([]);
    }),
  );
  expect(unhandled).toEqual([]);
}, 120_000);
