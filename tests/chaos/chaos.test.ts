import { afterAll, beforeAll, expect, test } from "bun:test";
import { type PostgresServer, startPostgres } from "../../host-fixtures/index.ts";
import { maxConnections } from "./support/inflict.ts";
import { runChaos } from "./support/run-chaos.ts";

const isLong = process.env.CHAOS_LONG === "1";
const minutes = isLong ? Number(process.env.CHAOS_MINUTES ?? 30) : 0;
const seed = Number(process.env.CHAOS_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);

// A server of its own, which is taken down. Commits are durable on it, and what is not flushed by its commit stays so for long: a crash would
// show it.
let server: PostgresServer;
beforeAll(async () => {
  const binaries = process.env.LENSO_TEST_POSTGRES_BINARIES;
  const settings = { max_connections: maxConnections, fsync: "on", wal_writer_delay: "5s" };
  server = await startPostgres({ ...(binaries && { binaries }), settings });
}, 60_000);
afterAll(() => server.stop());

test(
  `no job is lost and none ends twice in processes that die, freeze and lose the database (seed ${seed})`,
  async () => {
    const { audit, inflicted, seconds, leftovers } = await runChaos({
      seed,
      server,
      producers: isLong ? 3 : 2,
      workers: isLong ? 4 : 3,
      leaseSeconds: isLong ? 2 + (seed % 4) : 2,
      forMs: minutes * 60_000,
      drainLimitMs: 180_000,
    });
    const { lost, twice, stale, wrong, ...counted } = audit;
    console.log(
      JSON.stringify({ seed, seconds, ...inflicted, ...counted, lost: lost.length, twice: twice.length }),
    );
    expect({ lost, twice, stale, wrong, leftovers }).toEqual({
      lost: [],
      twice: [],
      stale: [],
      wrong: [],
      leftovers: [],
    });
    expect(counted.staleRefused).toBeGreaterThan(0);
    expect(counted.conflicts).toBeGreaterThan(0);
    expect(inflicted.crowds).toBeGreaterThan(0);
  },
  isLong ? (minutes + 10) * 60_000 : 240_000,
);
