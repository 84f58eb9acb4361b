// Side by side on one server, interleaved, medians: `bun bench/main.ts [rounds]`. With DATABASE_URL on that server, otherwise
// on an embedded one with durable settings.

import { SQL } from "bun";
import { startPostgres } from "lenso-jobs-plugin/host-fixtures";
import { jobsSide } from "./jobs-side.ts";
import { pgBossSide } from "./pg-boss-side.ts";
import type { Side } from "./side.ts";

const rounds = Number(process.argv[2] ?? 5);
const server = process.env.DATABASE_URL ? undefined : await startPostgres();
const url = process.env.DATABASE_URL ?? (await server?.createDatabase("bench")) ?? "";

const scenarios: Readonly<Record<string, (side: Side) => Promise<number>>> = {
  "enqueue, 1 in flight": (side) => inFlight(1, 300, () => side.enqueue()),
  "enqueue, 16 in flight": (side) => inFlight(16, 4000, () => side.enqueue()),
  "bulk, 1000 at once": (side) =>
    rate(4000, async () => {
      for (let time = 0; time < 4; time += 1) await side.bulk(1000, side);
    }),
  "claim and complete, one at a time": (side) => inFlight(1, 200, async () => void (await side.workOne())),
  "drain, 500 in flight": async (side) => {
    const startedAt = performance.now();
    const done = await side.drain(500);
    return done / seconds(startedAt);
  },
};

const sides = [await jobsSide(url), await pgBossSide(url)];
const results = new Map<string, number[]>();
for (let round = 0; round <= rounds; round += 1) {
  for (const [scenario, run] of Object.entries(scenarios)) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const figure = await run(side);
      // The first round warms both up.
      if (round > 0)
        results.set(`${scenario}|${side.name}`, [...(results.get(`${scenario}|${side.name}`) ?? []), figure]);
    }
  }
}
await Promise.all(sides.map((side) => side.stop()));

const sql = new SQL(url, { max: 1 });
const [settings] =
  await sql`select version(), current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`;
await sql.close();
console.log(
  `${String(settings.version).slice(0, 30)}, fsync ${settings.fsync}, synchronous_commit ${settings.commit}, ${rounds} rounds, jobs/s, median (lowest..highest)`,
);
for (const scenario of Object.keys(scenarios)) {
  const [ours, theirs] = sides.map((side) =>
    (results.get(`${scenario}|${side.name}`) ?? []).sort((a, b) => a - b),
  );
  const text = (list: number[] = []) =>
    `${median(list)} (${Math.round(list[0] ?? 0)}..${Math.round(list.at(-1) ?? 0)})`;
  console.log(
    `${scenario.padEnd(34)} lenso-jobs ${text(ours).padEnd(24)} pg-boss ${text(theirs).padEnd(24)} ratio ${(median(ours) / median(theirs)).toFixed(2)}`,
  );
}
await server?.stop();

async function inFlight(width: number, count: number, call: () => Promise<void>): Promise<number> {
  let left = count;
  return rate(count, () =>
    Promise.all(
      Array.from({ length: width }, async () => {
        while (left-- > 0) await call();
      }),
    ),
  );
}

async function rate(count: number, work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return count / seconds(startedAt);
}

function seconds(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}

function median(list: readonly number[] = []): number {
  return Math.round(list[list.length >> 1] ?? 0);
}
