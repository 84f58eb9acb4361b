import { type Migration, readMigrations } from "../store/schema/migrations.ts";
import { readSchemaState } from "../store/schema/schema-state.ts";
import { type OperatorOptions, type Refusal, type Report, refuseState, refuseUnlessOwned } from "./report.ts";
import { runCommand } from "./run-command.ts";
import { readRuntimeRoles } from "./runtime-role.ts";
import { addedGrantsStep, runSteps, upgradeSteps } from "./steps.ts";
import { refuseUnsupportedDatabase } from "./supported-database.ts";

export type UpgradeReport =
  | Refusal<"upgrade">
  | (Report<"upgrade"> & {
      readonly ok: true;
      /** `already_ahead`: a newer build upgraded it further, and this one may run on it. */
      readonly code: "upgraded" | "already_current" | "already_ahead";
      readonly from: number;
      readonly to: number;
    });

/**
 * Applies the migrations that a schema lacks, all or none, and gives its runtime roles what they add. Any number at once are
 * safe; live traffic is held up for half a second at most at a time, and for as long as the migrations themselves run.
 */
export async function upgrade(options: OperatorOptions): Promise<UpgradeReport> {
  return upgradeWith(await readMigrations(), options);
}

/** @internal The same for a build that knows these migrations. */
export async function upgradeWith(
  migrations: readonly Migration[],
  options: OperatorOptions,
): Promise<UpgradeReport> {
  const { schema } = options;
  return runCommand(options, {
    command: "upgrade",
    access: "change",
    async work(session): Promise<UpgradeReport> {
      await refuseUnsupportedDatabase(session);
      const state = await readSchemaState(session, schema, migrations);
      if (state.kind === "current") {
        const { version } = state;
        const message = `schema "${schema}" is already current at version ${version}`;
        return {
          ok: true,
          command: "upgrade",
          schema,
          code: "already_current",
          from: version,
          to: version,
          message,
        };
      }
      if (state.kind === "ahead" && state.runnable) {
        const { from, to } = state;
        const message = `schema "${schema}" is at version ${from}, newer than this build (${to}), which may run on it`;
        return { ok: true, command: "upgrade", schema, code: "already_ahead", from, to: from, message };
      }
      if (state.kind !== "behind") throw refuseState(state, schema);
      refuseUnlessOwned(state, schema);
      const roles = await readRuntimeRoles(session, schema);
      await runSteps(session, [
        ...upgradeSteps(schema, migrations, state),
        ...roles.map((role) => addedGrantsStep(schema, role)),
      ]);
      const { from, to } = state;
      const message = `schema "${schema}" upgraded from version ${from} to ${to}`;
      return { ok: true, command: "upgrade", schema, code: "upgraded", from, to, message };
    },
  });
}
