import { buildOf, type Migration, readMigrations } from "../store/schema/migrations.ts";
import { readSchemaState } from "../store/schema/schema-state.ts";
import { type OperatorOptions, type Refusal, type Report, refuseState, refuseUnlessOwned } from "./report.ts";
import { runCommand } from "./run-command.ts";
import { refuseBadRoleName, refuseUnfitRole } from "./runtime-role.ts";
import { exactGrantsStep, runSteps, setupSteps } from "./steps.ts";
import { refuseUnsupportedDatabase } from "./supported-database.ts";

export interface SetupOptions extends OperatorOptions {
  /** A role that the plugin logs in as, other than the owner: it gets exactly what the plugin needs, also on a schema that exists. */
  readonly runtimeRole?: string;
}

export type SetupReport =
  | Refusal<"setup">
  | (Report<"setup"> & {
      readonly ok: true;
      /** `already_ahead`: a newer build made it, and this one may run on it. */
      readonly code: "created" | "already_current" | "already_ahead";
      readonly version: number;
      readonly runtimeRole: string | null;
    });

/**
 * Creates an absent schema with everything that the plugin needs; leaves one that is current as it is. Any number at once
 * are safe. Refuses a schema that is behind, damaged or not made by this command, and changes nothing then.
 *
 * @example
 * const report = await setup({ databaseUrl, schema: "jobs", runtimeRole: "app" });
 * if (!report.ok) throw new Error(report.message);
 */
export async function setup(options: SetupOptions): Promise<SetupReport> {
  return setupWith(await readMigrations(), options);
}

/** @internal The same for a build that knows these migrations. */
export async function setupWith(
  migrations: readonly Migration[],
  options: SetupOptions,
): Promise<SetupReport> {
  const { schema, runtimeRole } = options;
  return runCommand(options, {
    command: "setup",
    access: "change",
    refuseInput: () => refuseBadRoleName(runtimeRole),
    async work(session): Promise<SetupReport> {
      await refuseUnsupportedDatabase(session);
      const before = await readSchemaState(session, schema, migrations);
      const created = before.kind === "absent";
      if (created) await runSteps(session, setupSteps(schema, migrations));
      const state = created ? await readSchemaState(session, schema, migrations) : before;
      if (state.kind !== "current" && !(state.kind === "ahead" && state.runnable))
        throw refuseState(state, schema);
      if (runtimeRole !== undefined) {
        refuseUnlessOwned(state, schema);
        await refuseUnfitRole(session, runtimeRole, state.owner);
        await runSteps(session, [exactGrantsStep(schema, runtimeRole)]);
      }
      const version = state.kind === "current" ? state.version : state.from;
      const code = created ? "created" : state.kind === "current" ? "already_current" : "already_ahead";
      const granted =
        runtimeRole === undefined ? "" : `; role ${JSON.stringify(runtimeRole)} has the runtime grants`;
      const message = `${messages[code](schema, version, buildOf(migrations))}${granted}`;
      return { ok: true, command: "setup", schema, code, version, runtimeRole: runtimeRole ?? null, message };
    },
  });
}

const messages = {
  created: (schema: string, version: number) => `schema "${schema}" created at version ${version}`,
  already_current: (schema: string, version: number) =>
    `schema "${schema}" is already current at version ${version}`,
  already_ahead: (schema: string, version: number, build: number) =>
    `schema "${schema}" is at version ${version}, newer than this build (${build}), which may run on it`,
};
