import type { ChaosDatabase } from "./chaos-database.ts";

/** Backends of the plugin and advisory locks that are still there when every process has ended; the server is given 10 s to notice. */
export function findLeftovers({ asAdmin }: ChaosDatabase): Promise<readonly string[]> {
  return asAdmin(async (sql) => {
    for (const deadline = performance.now() + 10_000; ; await Bun.sleep(50)) {
      const rows: { what: string }[] = await sql`
        select 'backend: ' || state || ' after ' || left(query, 60) as what from pg_stat_activity
          where application_name = 'lenso-jobs' or usename in ('chaos_app', 'chaos_crowd')
        union all select 'advisory lock of ' || pid::text from pg_locks where locktype = 'advisory'
        union all select 'prepared transaction ' || gid from pg_prepared_xacts`;
      if (rows.length === 0 || performance.now() > deadline) return rows.map(({ what }) => what);
    }
  });
}
