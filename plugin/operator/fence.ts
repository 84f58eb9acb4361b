import type { Session } from "../store/drivers/driver.ts";
import { quoteIdentifier } from "../store/schema/identifier.ts";
import { type Migration, readMigrations } from "../store/schema/migrations.ts";
import { readSchemaState } from "../store/schema/schema-state.ts";
import { type OperatorOptions, type Refusal, type Report, refuseState } from "./report.ts";
import { runCommand } from "./run-command.ts";
import { StepFailed } from "./steps.ts";

export type FenceReport =
  | Refusal<"fence">
  | (Report<"fence"> & {
      readonly ok: true;
      readonly code: "fenced";
      /** How many running jobs lost their lease. */
      readonly fenced: number;
    });

/**
 * Voids every lease: after a restore from backup, tokens handed out since the backup, or before it, settle nothing any more.
 * The jobs then count as expired, and are claimed again or retired as those are.
 */
export async function fence(options: OperatorOptions): Promise<FenceReport> {
  return fenceWith(await readMigrations(), options);
}

/** @internal The same for a build that knows these migrations. */
export async function fenceWith(
  migrations: readonly Migration[],
  options: OperatorOptions,
): Promise<FenceReport> {
  const { schema } = options;
  return runCommand(options, {
    command: "fence",
    access: "change",
    async work(session): Promise<FenceReport> {
      const state = await readSchemaState(session, schema, migrations);
      if (state.kind !== "current" && !(state.kind === "ahead" && state.runnable))
        throw refuseState(state, schema);
      const fenced = await fenceRunning(session, schema);
      const message = `schema "${schema}": ${fenced} ${fenced === 1 ? "lease" : "leases"} voided`;
      return { ok: true, command: "fence", schema, code: "fenced", fenced, message };
    },
  });
}

/**
 * The generation grows and the token becomes the hash of 32 bytes that nobody ever saw. `updated_at` stays: the job's state
 * did not change, only who may speak for it.
 */
async function fenceRunning(session: Session, schema: string): Promise<number> {
  const sql = `with fenced as (
    update ${quoteIdentifier(schema)}.lease set
      generation = generation + 1,
      token = pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())),
      expires_at = pg_catalog.clock_timestamp()
    returning 1
  ) select count(*)::text as fenced from fenced`;
  try {
    const [row] = await session.query(sql, []);
    return Number(row?.fenced);
  } catch (failure) {
    throw new StepFailed({ kind: "fence", title: "voiding the leases", sql }, failure);
  }
}
