import type { Session } from "../store/drivers/driver.ts";
import { isRoleName } from "../store/schema/identifier.ts";
import { Refused } from "./report.ts";

/** Refuses a name that can't be a runtime role's, before the database. */
export function refuseBadRoleName(role: string | undefined): void {
  if (role === undefined || isRoleName(role)) return;
  throw new Refused(
    "invalid_input",
    "runtime role: expected a role name of 1..63 bytes without control characters, and not public, none or pg_…",
  );
}

/** Refuses a role that does not exist, or that may do everything already, as the owner and a superuser may. */
export async function refuseUnfitRole(session: Session, role: string, owner: string): Promise<void> {
  const [found] = await session.query(
    `select rolsuper or pg_catalog.pg_has_role(r.oid, $2::text::name, 'member') as mighty
       from pg_catalog.pg_roles r where r.rolname = $1::text`,
    [role, owner],
  );
  if (found === undefined) {
    throw new Refused(
      "unknown_role",
      `role ${JSON.stringify(role)} does not exist on this server: create it with CREATE ROLE … LOGIN`,
    );
  }
  if (found.mighty === true) {
    throw new Refused(
      "invalid_input",
      `role ${JSON.stringify(role)} is the schema's owner, a member of it or a superuser, and needs no grants: name a role of its own for the plugin`,
    );
  }
}

/** The roles that earlier runs of `setup --runtime-role` gave grants to, by what only those roles may do. */
export async function readRuntimeRoles(session: Session, schema: string): Promise<readonly string[]> {
  const rows = await session.query(
    `select r.rolname::text as role
       from pg_catalog.pg_class c
       join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       cross join pg_catalog.aclexplode(c.relacl) as g
       join pg_catalog.pg_roles r on r.oid = g.grantee
      where n.nspname = $1::text and r.oid <> c.relowner
        and (c.relname, g.privilege_type) in (('lenso_jobs_ledger', 'SELECT'), ('jobs', 'INSERT'), ('lease', 'DELETE'))
      group by r.rolname having count(distinct c.relname) = 3 order by 1`,
    [schema],
  );
  return rows.map((row) => String(row.role));
}
