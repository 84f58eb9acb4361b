import type { Session } from "../../../plugin/store/drivers/driver.ts";
import { quoteIdentifier } from "../../../plugin/store/schema/identifier.ts";
import { revokeEverything } from "../../../plugin/store/schema/runtime-grants.ts";
import { TaskQueueError } from "../../task-queue-error.ts";

/**
 * What the provider does at run time, table by table, and so what its role may do. What a task was recorded with, no statement changes.
 * Whoever adds one to the records keeps this list in step.
 */
const grants: readonly (readonly [table: string, privileges: string])[] = [
  ["lenso_tasks_marker", "select"],
  ["lenso_tasks_ledger", "select"],
  ["queue", "select, insert"],
  ["deduplication_key", "select, insert"],
  [
    "task",
    `select, insert, delete, update (run_at, look_at, lease_until, finished_at, dispatch, delivery, attempt, max_attempts,
      cancel_requested, state, job_id, settled_by, error, result)`,
  ],
];

/**
 * Gives a role what the provider needs at run time, and takes from it whatever else it had in the schema; a schema of a newer build may
 * need more than this one knows, so there nothing is taken.
 *
 * @throws TaskQueueError `invalid-options` for a role that does not exist, or that may do everything anyway
 */
export async function grantTaskRuntime(
  session: Session,
  given: { readonly schema: string; readonly role: string; readonly isNewer: boolean },
): Promise<void> {
  const { schema, role, isNewer } = given;
  await refuseUnfitRole(session, schema, role);
  const inSchema = quoteIdentifier(schema);
  const to = quoteIdentifier(role);
  const statements = [
    ...(isNewer ? [] : [revokeEverything(schema, role)]),
    `grant usage on schema ${inSchema} to ${to};`,
    ...grants.map(([table, privileges]) => `grant ${privileges} on ${inSchema}.${table} to ${to};`),
  ];
  await session.script(statements.join("\n"));
}

async function refuseUnfitRole(session: Session, schema: string, role: string): Promise<void> {
  const [found] = await session.query(
    `select r.rolsuper or pg_catalog.pg_has_role(r.oid, n.nspowner, 'member') as mighty
     from pg_catalog.pg_roles r, pg_catalog.pg_namespace n where r.rolname = $1::text and n.nspname = $2::text`,
    [role, schema],
  );
  if (found !== undefined && found["mighty"] !== true) return;
  const problem =
    found === undefined
      ? "does not exist on this server: create it with CREATE ROLE … LOGIN"
      : "is the schema's owner, a member of it or a superuser, and needs no grants: name a role of its own";
  const cause = new TypeError(`runtimeRole: ${JSON.stringify(role)} ${problem}`);
  throw new TaskQueueError("invalid-options", "migrate", { cause });
}
