// The only module that imports pg-boss.
import { type Db, fromKysely, type JobInsert, type JobWithMetadata, PgBoss } from "pg-boss";
import type { SqlRunner } from "./database.ts";

export type { Db, JobInsert, JobWithMetadata, PgBoss };
export { fromKysely };

export interface OpenBossOptions {
  readonly db: Db;
  readonly schema: string;
  /** True in the migration alone: elsewhere `start()` refuses a missing or older schema and changes nothing. */
  readonly migrate: boolean;
  /** Whether a migration may create the schema itself. */
  readonly createSchema: boolean;
  readonly superviseIntervalSeconds: number;
  readonly retentionSeconds: number;
  readonly onError: (error: unknown) => void;
}

/**
 * A pg-boss that does only what we ask: no cron, no supervisor's timer (ours calls `supervise` for our queue alone), no registry of
 * instances, no telemetry of its own.
 */
export function openBoss(options: OpenBossOptions): PgBoss {
  const { superviseIntervalSeconds, retentionSeconds } = options;
  const boss = new PgBoss({
    db: options.db,
    schema: `"${options.schema}"`, // quoted, so that a reserved word is a name too
    migrate: options.migrate,
    createSchema: options.createSchema,
    supervise: false,
    schedule: false,
    registerInstance: false,
    openTelemetry: { enabled: false },
    // Only makes pg-boss ask `db.listen` for its channel, which we share.
    useListenNotify: !options.migrate,
    // pg-boss leaves at least that long between two looks at silent claims, however many providers supervise.
    monitorIntervalSeconds: superviseIntervalSeconds,
    // And between two prunings: a quarter of the retention, at most an hour.
    maintenanceIntervalSeconds: Math.max(
      superviseIntervalSeconds,
      Math.min(3_600, Math.ceil(retentionSeconds / 4)),
    ),
  });
  boss.on("error", options.onError);
  return boss;
}

/** pg-boss's idea of a database: what it runs in a transaction of ours or of a caller. */
export function asBossDb(runner: SqlRunner): Db {
  return runner;
}

/** How many of the jobs that were named a command changed. */
export function affected(answer: unknown): number {
  return (answer as { readonly affected: number }).affected;
}

/** The ids that a fenced command changed. */
export function settledIds(answer: unknown): ReadonlySet<string> {
  return new Set((answer as { readonly settled: readonly string[] }).settled);
}
