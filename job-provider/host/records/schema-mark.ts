import type { JobSession } from "./job-session.ts";

/** What tells the records of this session from all others that a machine may know, be they of the same name: where and when they were made. */
export async function schemaMark(session: JobSession): Promise<string> {
  const text = `
    select current_database()::text as database, extract(epoch from applied_at)::text as made
    from ${session.table("lenso_job_host_ledger")} where version = 1`;
  const [row] = await session.query(text, []);
  return JSON.stringify([session.table("job"), row?.["database"], row?.["made"]]);
}
