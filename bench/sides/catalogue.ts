import { bullmqTables } from "../tables/bullmq.ts";
import { floorTables } from "../tables/floor.ts";
import { graphileTables } from "../tables/graphile-worker.ts";
import { jobsTables } from "../tables/jobs.ts";
import { pgBossTables, pgBossTaskTables } from "../tables/pg-boss.ts";
import type { Tables } from "../tables/tables.ts";
import { taskTables } from "../tables/tasks.ts";

/** A side that can be measured: where its code is, where it runs, and how its tables are read and filled. */
export interface SideSpec {
  readonly name: SideName;
  /** Whose figure it is in ratios. */
  readonly maker: "us" | "pg-boss" | "graphile-worker" | "bullmq" | "floor";
  /** The file in this folder, without its ending. */
  readonly file: string;
  readonly variant: string;
  /** The runtime that its authors support. pg-boss, graphile-worker and BullMQ say Node; this package says Bun. */
  readonly runtime: "bun" | "node";
  readonly tables: Tables;
}

/** Every side by name. */
export const sides: Readonly<Record<SideName, Omit<SideSpec, "name">>> = {
  "lenso-jobs": side("us", "jobs", "bun", "bun", jobsTables),
  "lenso-jobs (pg)": side("us", "jobs", "pg", "bun", jobsTables),
  "lenso-jobs (statements)": side("us", "store", "", "bun", jobsTables),
  "jobs worker": side("us", "jobs-worker", "", "bun", jobsTables),
  "tasks on jobs": side("us", "tasks", "jobs", "bun", taskTables),
  "tasks on pg-boss": side("us", "tasks", "postgres", "bun", pgBossTaskTables),
  "pg-boss": side("pg-boss", "pg-boss", "fetch", "node", pgBossTables),
  "pg-boss work()": side("pg-boss", "pg-boss", "work", "node", pgBossTables),
  "graphile-worker": side("graphile-worker", "graphile-worker", "", "node", graphileTables),
  bullmq: side("bullmq", "bullmq", "", "node", bullmqTables),
  floor: side("floor", "floor", "", "bun", floorTables),
};

export type SideName =
  | "lenso-jobs"
  | "lenso-jobs (pg)"
  | "lenso-jobs (statements)"
  | "jobs worker"
  | "tasks on jobs"
  | "tasks on pg-boss"
  | "pg-boss"
  | "pg-boss work()"
  | "graphile-worker"
  | "bullmq"
  | "floor";

/** The side of a name. */
export function sideSpec(name: SideName): SideSpec {
  return { name, ...sides[name] };
}

/** The schema that a side has to itself in the run's database. */
export function schemaOf({ file, variant }: SideSpec): string {
  return `bench_${file}${variant === "" ? "" : `_${variant}`}`.replaceAll("-", "_");
}

function side(
  maker: SideSpec["maker"],
  file: string,
  variant: string,
  runtime: SideSpec["runtime"],
  tables: Tables,
): Omit<SideSpec, "name"> {
  return { maker, file, variant, runtime, tables };
}
