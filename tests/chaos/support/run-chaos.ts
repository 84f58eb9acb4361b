import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PostgresServer } from "../../../host-fixtures/index.ts";
import { drivers } from "../../postgres/support/jobs-host.ts";
import { eventually } from "../../task-faults/support/eventually.ts";
import { type Audit, audit } from "./audit.ts";
import { type ChaosDatabase, openChaosDatabase } from "./chaos-database.ts";
import { ChaosPlace } from "./chaos-place.ts";
import type { ChaosRole } from "./chaos-process.ts";
import type { ChaosRun } from "./chaos-run.ts";
import { drawFaults } from "./draw-faults.ts";
import { findLeftovers } from "./find-leftovers.ts";
import { createTormentor, type Inflicted } from "./inflict.ts";
import { readLedger } from "./ledger.ts";
import { readStored } from "./read-stored.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly server: PostgresServer;
  readonly producers: number;
  readonly workers: number;
  readonly leaseSeconds: number;
  /** Rounds of faults go on for so many ms; one that has begun is finished, and there is always one. */
  readonly forMs: number;
  /** How long the jobs that are left may take when everything works again, in ms. */
  readonly drainLimitMs: number;
}

export interface ChaosReport {
  readonly audit: Audit;
  readonly inflicted: Readonly<Inflicted>;
  /** From the first process's start to the last one's end. */
  readonly seconds: number;
  /** What is still there although everything has ended. */
  readonly leftovers: readonly string[];
}

/** Lets producers and workers live through rounds of faults, heals everything, waits until every job has ended, stops all, and holds the books against each other. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, server, leaseSeconds } = options;
  const run: ChaosRun = { seed, leaseSeconds, startedAt: new Date().toISOString() };
  const began = performance.now();
  const database = await openChaosDatabase(server);
  const directory = await mkdtemp(join(tmpdir(), "chaos-"));
  const deaths: string[] = [];
  const places: ChaosPlace[] = [];
  try {
    const open = (role: ChaosRole, count: number): Promise<ChaosPlace>[] =>
      Array.from({ length: count }, (_, index) =>
        ChaosPlace.open({
          run,
          role,
          name: `${role}-${index}`,
          driver: drivers[index % drivers.length] ?? "bun",
          url: database.runtimeUrl,
          directory,
          onEnd: (what) => deaths.push(what),
        }),
      );
    places.push(
      ...(await Promise.all([...open("producer", options.producers), ...open("worker", options.workers)])),
    );
    await untilWorkIsDone(database, 5);
    const tormentor = createTormentor({ run, places, server, database });
    await storm(options, tormentor.inflict);
    for (const { link } of places) link.cut(); // whatever still lies on the way
    const { producers } = options;
    await Promise.all(places.slice(0, producers).map((place) => place.finish(60_000)));
    await untilEverythingEnded(database, options.drainLimitMs);
    await Promise.all(places.slice(producers).map((place) => place.finish(60_000)));
    const seconds = Math.round((performance.now() - began) / 1000);

    const leftovers = await findLeftovers(database);
    const names = await readdir(directory);
    const entries = names.flatMap((name) => readLedger(join(directory, name)));
    const found = audit(entries, await database.asAdmin(readStored));
    return {
      audit: { ...found, wrong: [...found.wrong, ...deaths] },
      inflicted: tormentor.inflicted,
      seconds,
      leftovers,
    };
  } finally {
    await Promise.all(places.map((place) => place.destroy()));
    await rm(directory, { recursive: true, force: true });
  }
}

/** Faults begin whether or not those before them have passed. */
async function storm(
  { seed, forMs, ...places }: ChaosOptions,
  inflict: ReturnType<typeof createTormentor>["inflict"],
): Promise<void> {
  const endsAt = performance.now() + forMs;
  for (let round = 0; round === 0 || performance.now() < endsAt; round += 1) {
    const faults: Promise<void>[] = [];
    for (const { fault, afterMs } of drawFaults(seed + round, places)) {
      await Bun.sleep(afterMs);
      faults.push(inflict(fault));
    }
    await Promise.all(faults);
  }
}

function untilWorkIsDone({ asAdmin }: ChaosDatabase, jobs: number): Promise<void> {
  return eventually("the first jobs to be done", () =>
    asAdmin(async (sql) => {
      const [row] = await sql`select count(*)::int as ended from jobs.outcome`;
      return row.ended >= jobs;
    }),
  );
}

function untilEverythingEnded({ asAdmin }: ChaosDatabase, limitMs: number): Promise<void> {
  return asAdmin((sql) =>
    eventually(
      "every job to end",
      async () => {
        await Bun.sleep(100);
        const [row] = await sql`
          select not exists (select from jobs.ready) and not exists (select from jobs.lease) as ended`;
        return row.ended;
      },
      limitMs,
    ),
  );
}
