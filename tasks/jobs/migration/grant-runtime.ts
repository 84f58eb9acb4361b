import type { Session } from "../../../plugin/store/drivers/driver.ts";
import { quoteIdentifier } from "../../../plugin/store/schema/identifier.ts";
import { revokeEverything } from "../../../plugin/store/schema/runtime-grants.ts";
import { SafeCause } from "../../task-queue-error.ts";
import type { SchemaOwner } from "./schema-owner.ts";

/** A role that cannot be given grants, or needs none. */
export class RoleUnfit extends SafeCause {
  override readonly name = "RoleUnfit";
}

/**
 * Gives a role what its owner's code needs at run time, and takes from it whatever else it had in the schema; a schema of a newer build may
 * need more than this one knows, so there nothing is taken.
 *
 * @throws RoleUnfit for a role that does not exist, or that may do everything anyway
 */
export async function grantRuntime(
  session: Session,
  { prefix, grants }: SchemaOwner,
  given: { readonly schema: string; readonly role: string; readonly isNewer: boolean },
): Promise<void> {
  const { schema, role, isNewer } = given;
  await refuseUnfitRole(session, schema, role);
  const inSchema = quoteIdentifier(schema);
  const to = quoteIdentifier(role);
  const own = [
    [`${prefix}_marker`, "select"],
    [`${prefix}_ledger`, "select"],
  ] as const;
  const statements = [
    ...(isNewer ? [] : [revokeEverything(schema, role)]),
    `grant usage on schema ${inSchema} to ${to};`,
    ...[...own, ...grants].map(
      ([table, privileges]) => `grant ${privileges} on ${inSchema}.${table} to ${to};`,
    ),
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
  throw new RoleUnfit(`runtimeRole: ${JSON.stringify(role)} ${problem}`);
}
