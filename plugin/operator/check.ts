import { DatabaseError } from "../store/drivers/database-error.ts";
import type { Session } from "../store/drivers/driver.ts";
import { quoteIdentifier } from "../store/schema/identifier.ts";
import { buildOf, type Migration, readMigrations } from "../store/schema/migrations.ts";
import { readSchemaState } from "../store/schema/schema-state.ts";
import { sessionSettings } from "../store/session-settings.ts";
import { type OperatorOptions, type Refusal, Refused, type Report, refuseState } from "./report.ts";
import { runCommand } from "./run-command.ts";
import { refuseUnsupportedDatabase } from "./supported-database.ts";

export type CheckReport =
  | Refusal<"check">
  | (Report<"check"> & {
      readonly ok: true;
      readonly code: "startable";
      readonly version: number;
      /** The number of this build: the version that it was made for. */
      readonly build: number;
      readonly owner: string;
      readonly role: string;
      /** The Instance that the schema belongs to; null before its first start. No other Instance can start on it. */
      readonly instance: string | null;
      /** As "18.4". */
      readonly server: string;
      /** What does not keep the plugin from starting and will hurt if nobody looks after it. */
      readonly warnings: readonly string[];
    });

/** Tells whether the plugin could start with this URL and schema, and if not, why and what to do. Changes nothing. */
export async function check(options: OperatorOptions): Promise<CheckReport> {
  return checkWith(await readMigrations(), options);
}

/** @internal The same for a build that knows these migrations. */
export async function checkWith(
  migrations: readonly Migration[],
  options: OperatorOptions,
): Promise<CheckReport> {
  const { schema } = options;
  return runCommand(options, {
    command: "check",
    access: "look",
    async work(session): Promise<CheckReport> {
      const server = await refuseUnsupportedDatabase(session);
      const state = await readSchemaState(session, schema, migrations);
      if (state.kind !== "current" && !(state.kind === "ahead" && state.runnable))
        throw refuseState(state, schema);
      const instance = await readInstance(session, schema);
      await refuseReadOnly(session);
      await refuseForbiddenSettings(session);
      const version = state.kind === "current" ? state.version : state.from;
      const { owner, role } = state;
      const message = `the plugin can start on schema "${schema}"`;
      const build = buildOf(migrations);
      const warnings = await warnOfNotifications(session);
      return {
        ok: true,
        command: "check",
        schema,
        code: "startable",
        version,
        build,
        owner,
        role,
        instance,
        server,
        warnings,
        message,
      };
    },
  });
}

async function readInstance(session: Session, schema: string): Promise<string | null> {
  const [row] = await session.query(`select instance_key from ${quoteIdentifier(schema)}.instance`, []);
  return row === undefined ? null : String(row.instance_key);
}

/** Once the server's queue of notifications is full, every commit that sends one fails, on all its databases. */
async function warnOfNotifications(session: Session): Promise<readonly string[]> {
  const [row] = await session.query(
    "select (pg_catalog.pg_notification_queue_usage() * 100)::int as percent",
    [],
  );
  const percent = Number(row?.percent);
  if (percent <= 50) return [];
  return [
    `the server's notification queue is ${percent} % full: a session that listens has been in one transaction for long (look for state 'idle in transaction' in pg_stat_activity, and end it with pg_terminate_backend)`,
  ];
}

async function refuseReadOnly(session: Session): Promise<void> {
  const [row] = await session.query(
    `select pg_catalog.pg_is_in_recovery() as standby,
            pg_catalog.current_setting('default_transaction_read_only')::text as read_only`,
    [],
  );
  if (row?.standby === true) {
    throw new Refused(
      "unsupported_database",
      "the server is a standby, which takes no writes: name the primary",
    );
  }
  if (row?.read_only === "on") {
    throw new Refused(
      "unsupported_database",
      "the role's transactions are read-only: ALTER ROLE … SET default_transaction_read_only = off",
    );
  }
}

/** Sets what the plugin's own connections set, until the transaction ends. */
async function refuseForbiddenSettings(session: Session): Promise<void> {
  const settings = sessionSettings({ statementTimeoutMs: 30_000, lockTimeoutMs: 1000 });
  for (const [name, value] of Object.entries(settings)) {
    try {
      await session.query("select pg_catalog.set_config($1::text, $2::text, true)", [name, value]);
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== "42501") throw error;
      throw new Refused(
        "permission_denied",
        `the role may not set ${name}, which the plugin's connections need`,
      );
    }
  }
}
