import type { Rows } from "../tables/tables.ts";
import { drainAll } from "./drain-all.ts";
import { percentile } from "./percentile.ts";
import { onlyProcess, type Row, type Scenario, type Stand } from "./scenario.ts";

const kinds = [
  ["due", "waiting"],
  ["future", "waiting for tomorrow"],
  ["finished", "finished"],
] as const satisfies readonly (readonly [keyof Rows, string])[];

/** The rows of a report depend on how many rows the tables get. */
export function backlogFor(sizes: readonly number[]): Scenario {
  const filled = sizes.filter((rows) => rows > 0);
  return {
    name: "backlog",
    sides: ["lenso-jobs", "pg-boss", "graphile-worker"],
    once: true,
    rows: [
      { id: "backlog-claim-0", title: "claim p50, empty tables", unit: "ms", better: "lower" },
      { id: "backlog-drain-0", title: "drain of 20 000, nothing else", unit: "jobs/s", better: "higher" },
      ...kinds.flatMap(([kind, what]) =>
        filled.flatMap((rows): readonly Row[] => {
          const also = `${shown(rows)} jobs ${what}`;
          const id = `${kind}-${rows}`;
          return [
            { id: `backlog-claim-${id}`, title: `claim p50, ${also}`, unit: "ms", better: "lower" },
            {
              id: `backlog-ratio-${id}`,
              title: `claim p50, ${also} ÷ empty`,
              unit: "×",
              better: "lower",
            },
            { id: `backlog-drain-${id}`, title: `drain, ${also}`, unit: "jobs/s", better: "higher" },
          ];
        }),
      ),
    ],
    measure: measureBacklog,
  };
}

async function measureBacklog(stand: Stand, record: Parameters<Scenario["measure"]>[1]): Promise<void> {
  const { sql, spec, schema, size } = stand;
  const fill = spec.tables.fill;
  if (fill === undefined) throw new Error(`nobody has worked out how to fill the tables of ${spec.name}`);
  const claims = size.quick ? 200 : 1000;
  const drained = size.quick ? 5000 : 20_000;
  const byHand = spec.maker !== "graphile-worker";
  const claimP50 = async (): Promise<number> =>
    percentile(await onlyProcess(stand).ask("claims", { count: claims }), 0.5);

  const with_ = async (rows: Rows, count: number): Promise<void> => {
    await spec.tables.clear(sql, schema);
    await fill(sql, schema, { ...rows, due: (rows.due ?? 0) + count });
    await sql`checkpoint`; // to write the filling out is not the claims' business
  };
  let empty = Number.NaN;
  if (byHand) {
    await with_({}, claims);
    empty = await claimP50();
    record("backlog-claim-0", empty);
  }
  await with_({}, drained);
  record("backlog-drain-0", (await drainAll(stand, drained, "batch")).jobsPerSecond);
  for (const [kind] of kinds) {
    if (kind === "finished" && spec.maker === "graphile-worker") continue; // it keeps none
    for (const rows of size.rows) {
      if (rows === 0) continue;
      await with_({ [kind]: rows }, kind === "due" ? 0 : claims + drained);
      if (byHand) {
        const p50 = await claimP50();
        record(`backlog-claim-${kind}-${rows}`, p50);
        record(`backlog-ratio-${kind}-${rows}`, p50 / empty);
      }
      if (kind === "due") continue; // the whole backlog would have to be drained
      const count = byHand ? drained : claims + drained;
      record(`backlog-drain-${kind}-${rows}`, (await drainAll(stand, count, "batch")).jobsPerSecond);
    }
  }
  await spec.tables.clear(sql, schema);
}

function shown(rows: number): string {
  return rows >= 1_000_000 ? `${rows / 1_000_000} M` : `${rows / 1000} k`;
}
