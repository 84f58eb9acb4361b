import { type Migration, readMigrations } from "../store/schema/migrations.ts";
import { readSchemaState } from "../store/schema/schema-state.ts";
import { type OperatorOptions, type Refusal, type Report, refuseState, refuseUnlessOwned } from "./report.ts";
import { openingOf, runCommand } from "./run-command.ts";
import { readRuntimeRoles } from "./runtime-role.ts";
import { addedGrantsStep, type Step, setupSteps, upgradeSteps } from "./steps.ts";
import { refuseUnsupportedDatabase } from "./supported-database.ts";

export type PlanReport =
  | Refusal<"plan">
  | (Report<"plan"> & {
      readonly ok: true;
      readonly code: "setup_planned" | "upgrade_planned" | "nothing_to_do";
      /** The whole transaction, as `setup` or `upgrade` would run it now; empty when there is nothing to do. */
      readonly sql: string;
    });

/** Shows the SQL that `setup` or `upgrade` would run on a schema as it is now. Changes nothing. */
export async function plan(options: OperatorOptions): Promise<PlanReport> {
  return planWith(await readMigrations(), options);
}

/** @internal The same for a build that knows these migrations. */
export async function planWith(
  migrations: readonly Migration[],
  options: OperatorOptions,
): Promise<PlanReport> {
  const { schema } = options;
  return runCommand(options, {
    command: "plan",
    access: "look",
    async work(session): Promise<PlanReport> {
      await refuseUnsupportedDatabase(session);
      const state = await readSchemaState(session, schema, migrations);
      if (state.kind === "absent") {
        const sql = transactionOf(schema, setupSteps(schema, migrations));
        const message = `"lenso-jobs setup ${schema}" would run this`;
        return { ok: true, command: "plan", schema, code: "setup_planned", sql, message };
      }
      if (state.kind === "behind") {
        refuseUnlessOwned(state, schema);
        const roles = await readRuntimeRoles(session, schema);
        const steps = [
          ...upgradeSteps(schema, migrations, state),
          ...roles.map((role) => addedGrantsStep(schema, role)),
        ];
        const message = `"lenso-jobs upgrade ${schema}" would run this, from version ${state.from} to ${state.to}`;
        return {
          ok: true,
          command: "plan",
          schema,
          code: "upgrade_planned",
          sql: transactionOf(schema, steps),
          message,
        };
      }
      if (state.kind !== "current" && !(state.kind === "ahead" && state.runnable))
        throw refuseState(state, schema);
      const message = `schema "${schema}" needs no change`;
      return { ok: true, command: "plan", schema, code: "nothing_to_do", sql: "", message };
    },
  });
}

function transactionOf(schema: string, steps: readonly Step[]): string {
  return ["begin;", openingOf(schema, "change"), ...steps.map((step) => step.sql), "commit;"].join("\n");
}
