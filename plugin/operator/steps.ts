import type { Session } from "../store/drivers/driver.ts";
import { quoteIdentifier } from "../store/schema/identifier.ts";
import { createLedger, recordMigration } from "../store/schema/ledger.ts";
import type { Migration } from "../store/schema/migrations.ts";
import { grantRuntime, revokeEverything } from "../store/schema/runtime-grants.ts";

/** A part of a change that succeeds or fails as one, named for messages. `plan` prints what the others run. */
export interface Step {
  readonly kind: "schema" | "ledger" | "migration" | "grants" | "fence";
  readonly title: string;
  readonly sql: string;
}

/** A step that PostgreSQL refused; `failure` is what the driver threw. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly step: Step;
  readonly failure: unknown;

  constructor(step: Step, failure: unknown) {
    super(`${step.title} failed`);
    this.step = step;
    this.failure = failure;
  }
}

export async function runSteps(session: Session, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    try {
      await session.script(step.sql);
    } catch (failure) {
      throw new StepFailed(step, failure);
    }
  }
}

/** Makes an absent schema and everything in it. */
export function setupSteps(schema: string, migrations: readonly Migration[]): readonly Step[] {
  return [
    {
      kind: "schema",
      title: "creating the schema",
      sql: `create schema ${quoteIdentifier(schema)};\n${lookIn(schema)}`,
    },
    { kind: "ledger", title: "creating the ledger", sql: createLedger },
    ...migrations.map(migrationStep),
  ];
}

/** Applies the migrations past `from`, as the owner: what a member of the owning role makes would else be that member's. */
export function upgradeSteps(
  schema: string,
  migrations: readonly Migration[],
  state: { readonly from: number; readonly owner: string; readonly role: string },
): readonly Step[] {
  const become = state.owner === state.role ? "" : `set local role ${quoteIdentifier(state.owner)};\n`;
  return [
    { kind: "schema", title: "becoming the owner", sql: `${become}${lookIn(schema)}` },
    ...migrations.slice(state.from).map(migrationStep),
  ];
}

/** Gives a role exactly the runtime grants: whatever else it was given in the schema is taken away. */
export function exactGrantsStep(schema: string, role: string): Step {
  const sql = `${revokeEverything(schema, role)}\n${grantRuntime(schema, role)}`;
  return { kind: "grants", title: "granting to the runtime role", sql };
}

/** Gives a runtime role what a migration added; an older build that still runs keeps what it has. */
export function addedGrantsStep(schema: string, role: string): Step {
  return { kind: "grants", title: "granting to the runtime role", sql: grantRuntime(schema, role) };
}

/** Unqualified names mean the schema, where `create` puts them too; PostgreSQL's own still come first, temporary ones last. */
function lookIn(schema: string): string {
  return `set local search_path = ${quoteIdentifier(schema)}, pg_temp;`;
}

function migrationStep(migration: Migration): Step {
  const title = `migration ${migration.version} (${migration.name})`;
  return { kind: "migration", title, sql: `-- ${title}\n${migration.text}\n${recordMigration(migration)}` };
}
