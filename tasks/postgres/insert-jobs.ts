import { asBossDb, type JobInsert, type PgBoss } from "./boss.ts";
import type { SqlRunner } from "./database.ts";

export type NewJob = JobInsert & { readonly id: string };

/** Inserts jobs in one statement, which wakes idle workers at most once. */
export async function insertJobs(
  boss: PgBoss,
  name: string,
  jobs: readonly NewJob[],
  runner?: SqlRunner,
): Promise<void> {
  const db = runner === undefined ? {} : { db: asBossDb(runner) };
  const taken = await boss.insert(name, [...jobs], { returnId: true, ...db });
  if (taken?.length !== jobs.length) throw new Error("pg-boss did not take every job");
}

/** What became of each of several jobs: a value that PostgreSQL cannot store is the fault of its own job only. */
export async function insertEach(
  boss: PgBoss,
  name: string,
  jobs: readonly NewJob[],
): Promise<PromiseSettledResult<void>[]> {
  try {
    await insertJobs(boss, name, jobs);
    return jobs.map(() => ({ status: "fulfilled", value: undefined }));
  } catch (error) {
    if (jobs.length > 1 && isDataError(error))
      return Promise.allSettled(jobs.map((job) => insertJobs(boss, name, [job])));
    return jobs.map(() => ({ status: "rejected", reason: error }));
  }
}

/** SQLSTATE class 22. */
function isDataError(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^22...$/.test(code);
}
