import type { SQL } from "bun";
import type { ProviderKind } from "./open-provider.ts";

/**
 * Lets the database believe that nothing has been heard for long of whoever holds a job, of this queue or of any: what leases do by
 * passing, at once. A Jobs job does not name its queue in clear, so of `lenso.jobs@1` only all can lapse.
 */
export async function lapseClaims(sql: SQL, kind: ProviderKind, queue?: string): Promise<void> {
  if (kind === "pg-boss") {
    await sql`
      update pgboss.job set heartbeat_on = heartbeat_on - interval '1 hour'
      where state = 'active' and name = coalesce(${queue ?? null}::text, name)`;
    return;
  }
  await sql`update jobs.lease set expires_at = expires_at - interval '1 hour'`;
  await sql`update tasks.task set lease_until = lease_until - interval '1 hour' where state = 'running'`;
}
