import { SQL } from "bun";
import { onlyProcess, type Row, type Scenario, type Size, type Stand } from "../scenarios/scenario.ts";
import { type SideName, type SideSpec, schemaOf, sideSpec } from "../sides/catalogue.ts";
import type { Load } from "../sides/side.ts";
import type { Costs } from "./costs.ts";
import { SideProcess } from "./side-process.ts";

/** What to run, and where. */
export interface Plan {
  readonly scenarios: readonly Scenario[];
  /** Only these. Default: all that a scenario has. */
  readonly sides?: readonly SideName[];
  /** Counted rounds, after one to warm up. */
  readonly rounds: number;
  readonly size: Size;
  /** An empty database of the bench's own. Secret. */
  readonly databaseUrl: string;
  /** Where a side shall run, other than its authors say. */
  readonly runtimes?: Readonly<Partial<Record<SideSpec["maker"], "bun" | "node">>>;
  /** Ends the run after the turn at hand; what was measured by then stands. */
  readonly signal?: AbortSignal;
  /** Told of each turn. */
  say(line: string): void;
}

/** The values of one row on one side, in the order of the rounds. */
export interface Result {
  readonly row: Row;
  readonly side: SideName;
  readonly values: readonly number[];
  /** For each job, medians over the rounds. Undefined where they were not taken. */
  readonly costs: Costs | undefined;
}

/** How a side was set up, and under what. */
export interface Setup {
  readonly side: SideName;
  readonly runtime: "bun" | "node";
  readonly settings: Readonly<Record<Load, string>>;
}

/** What a run found. */
export interface Found {
  readonly results: readonly Result[];
  readonly failures: readonly Failure[];
  readonly setups: readonly Setup[];
}

/** A side that could not be measured, and why. */
export interface Failure {
  readonly scenario: string;
  readonly side: SideName;
  readonly reason: string;
}

/** Runs the scenarios, all sides in turns in every round, on the same server. */
export async function runScenarios(plan: Plan): Promise<Found> {
  const setups = new Map<SideName, Setup>();
  const results: Result[] = [];
  const failures: Failure[] = [];
  const sql = new SQL(plan.databaseUrl, { max: 1, idleTimeout: 0 });
  try {
    for (const scenario of plan.scenarios) {
      if (plan.signal?.aborted) break;
      plan.say(`\n${scenario.name}`);
      const found = await runScenario(scenario, plan, sql);
      results.push(...found.results);
      failures.push(...found.failures);
      for (const setup of found.setups) setups.set(setup.side, setup);
    }
  } finally {
    await sql.close();
  }
  return { results, failures, setups: [...setups.values()] };
}

async function runScenario(scenario: Scenario, plan: Plan, sql: SQL): Promise<Found> {
  const wanted = scenario.sides.filter((name) => plan.sides?.includes(name) ?? true);
  const values = new Map<string, number[]>();
  const costs = new Map<string, Costs[]>();
  const failures: Failure[] = [];
  const stands: Stand[] = [];
  const setups: Setup[] = [];
  const fail = (side: SideName, error: unknown): void => {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    plan.say(`  ${side}: FAILED ${reason}`);
    failures.push({ scenario: scenario.name, side, reason: reason.split("\n")[0] ?? reason });
  };
  for (const name of wanted)
    await openStand(scenario, name, plan, sql).then(
      (stand) => stands.push(stand),
      (error: unknown) => fail(name, error),
    );
  try {
    for (const stand of stands) setups.push(await setupOf(stand, plan));
    const rounds = scenario.once ? 1 : plan.rounds;
    for (let round = 0; round <= rounds; round += 1) {
      const isCounted = round > 0;
      // In turns, and every other round backwards: what drifts on the machine drifts for all.
      for (const stand of round % 2 === 0 ? stands : stands.toReversed()) {
        const { name } = stand.spec;
        if (plan.signal?.aborted) break;
        if (failures.some(({ side }) => side === name)) continue;
        const size = isCounted ? stand.size : { ...stand.size, quick: true, rows: [10_000] };
        const told: string[] = [];
        const measured = scenario.measure({ ...stand, size }, (row, value, cost) => {
          told.push(`${row} ${shown(value)}`);
          if (!isCounted) return;
          const key = `${row}|${name}`;
          values.set(key, [...(values.get(key) ?? []), value]);
          if (cost) costs.set(key, [...(costs.get(key) ?? []), perJob(cost)]);
        });
        await measured.catch(async (error: unknown) => {
          fail(name, error);
          // Whatever it still does must not count against the others.
          await Promise.all(stand.processes.map((process) => process.kill()));
        });
        plan.say(`  ${isCounted ? `round ${round}` : "warm-up"}  ${name}: ${told.join(", ")}`);
      }
    }
  } finally {
    await Promise.all(stands.flatMap(({ processes }) => processes.map((process) => process.close())));
  }
  const results = scenario.rows.flatMap((row) =>
    wanted.flatMap((side): Result[] => {
      const found = values.get(`${row.id}|${side}`);
      if (found === undefined) return [];
      return [{ row, side, values: found, costs: medianCosts(costs.get(`${row.id}|${side}`) ?? []) }];
    }),
  );
  return { results, failures, setups };
}

function runtimeOf({ maker, runtime }: SideSpec, { runtimes }: Plan): "bun" | "node" {
  return runtimes?.[maker] ?? runtime;
}

async function setupOf(stand: Stand, plan: Plan): Promise<Setup> {
  const process = onlyProcess(stand);
  const ask = (load: Load): Promise<string> => process.ask("settings", { load });
  const settings = {
    default: await ask("default"),
    batch: await ask("batch"),
    best: await ask("best"),
    prompt: await ask("prompt"),
  };
  return { side: stand.spec.name, runtime: runtimeOf(stand.spec, plan), settings };
}

async function openStand(scenario: Scenario, name: SideName, plan: Plan, sql: SQL): Promise<Stand> {
  const spec = sideSpec(name);
  const schema = schemaOf(spec);
  const processes: SideProcess[] = [];
  for (let index = 0; index < (scenario.processes ?? 1); index += 1) {
    const options = {
      databaseUrl: plan.databaseUrl,
      schema,
      variant: spec.variant,
      file: spec.file,
      first: index === 0,
      queues: scenario.queues?.(plan.size) ?? 0,
    };
    const opened = await SideProcess.open(name, runtimeOf(spec, plan), options).catch(
      async (error: unknown) => {
        await Promise.all(processes.map((process) => process.kill()));
        throw error;
      },
    );
    processes.push(opened);
  }
  const { databaseUrl, size, say } = plan;
  return { spec, schema, sql, databaseUrl, processes, size, say };
}

function perJob({ jobs, ...costs }: Costs & { readonly jobs: number }): Costs {
  return {
    writeTransactions: costs.writeTransactions / jobs,
    walBytes: costs.walBytes / jobs,
    serverCpuMicroseconds:
      costs.serverCpuMicroseconds === undefined ? undefined : costs.serverCpuMicroseconds / jobs,
    clientCpuMicroseconds: costs.clientCpuMicroseconds / jobs,
  };
}

function medianCosts(all: readonly Costs[]): Costs | undefined {
  if (all.length === 0) return undefined;
  const of = (pick: (costs: Costs) => number | undefined): number | undefined => {
    const known = all.map(pick).filter((value) => value !== undefined);
    return known.toSorted((a, b) => a - b)[known.length >> 1];
  };
  return {
    writeTransactions: of((costs) => costs.writeTransactions) ?? Number.NaN,
    walBytes: of((costs) => costs.walBytes) ?? Number.NaN,
    serverCpuMicroseconds: of((costs) => costs.serverCpuMicroseconds),
    clientCpuMicroseconds: of((costs) => costs.clientCpuMicroseconds) ?? Number.NaN,
  };
}

function shown(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}
