import { numberArray } from "../array-literal.ts";
import type { Database } from "../database.ts";
import type { SqlContext } from "../sql-context.ts";

/** How long a registration holds, in seconds of database time, and how often it is prolonged, in ms. */
export const registrationSeconds = 60;
export const prolongEveryMs = 20_000;

export type RegisterWaiter = (
  db: Database,
  queueHashes: readonly string[],
  listener: string,
) => Promise<void>;

/**
 * Says that a process waits for these queues, so that enqueues elsewhere notify it, and sends the process a notification of its own:
 * when that does not arrive, the listening connection is dead. Deletes some registrations that nobody prolonged.
 */
export function registerWaiter(sql: SqlContext, channel: string): RegisterWaiter {
  const text = `
    with gone as (
      delete from ${sql.table("waiter")} where ctid = any (array(
        select w.ctid from ${sql.table("waiter")} w where w.until < ${sql.clock} limit 100 for update skip locked))
    ), put as (
      insert into ${sql.table("waiter")} (queue, listener, until)
      select q, $2::text::uuid, ${sql.clock} + make_interval(secs => ${registrationSeconds})
      from unnest($1::text::bigint[]) as c (q) order by q
      on conflict (queue, listener) do update set until = excluded.until
    )
    select pg_notify('${channel}', $2::text)`;
  return async (db, queueHashes, listener) => {
    await db.query("side", text, [numberArray(queueHashes), listener]);
  };
}
