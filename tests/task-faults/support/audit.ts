import { expect } from "bun:test";
import type { SQL } from "bun";

/** The states of a job, one for each write of its state column, in the order of the writes. */
export async function statesOf(sql: SQL, jobId: string): Promise<string[]> {
  const rows = await sql`select became from fault.change where job = ${jobId}::uuid order by number`;
  return rows.map((row: { became: string }) => row.became);
}

/** The attempts whose handler was entered, in the order of their entries. */
export async function entriesOf(sql: SQL, jobId: string): Promise<{ attempt: number; pid: number }[]> {
  const rows =
    await sql`select attempt, pid from fault.step where job = ${jobId}::uuid and step = 0 order by number`;
  return rows.map(({ attempt, pid }: { attempt: number; pid: number }) => ({ attempt, pid }));
}

export interface QueueAudit {
  /** Jobs by the state that was written last. */
  readonly last: Readonly<Record<string, number>>;
  /** Jobs whose final state was written more than once, or that were written again after it. */
  readonly endedTwice: number;
}

export async function auditQueue(sql: SQL, queue: string): Promise<QueueAudit> {
  const rows = await sql`
    with write as (
      select job, became, row_number() over (partition by job order by number desc) as back,
        count(*) filter (where became in ('succeeded', 'failed', 'cancelled')) over (partition by job) as finals
      from fault.change where queue = ${queue})
    select became, count(*)::int as jobs, (count(*) filter (where finals > 1))::int as twice
    from write where back = 1 group by became`;
  const last: Record<string, number> = {};
  let endedTwice = 0;
  for (const row of rows as { became: string; jobs: number; twice: number }[]) {
    last[row.became] = row.jobs;
    endedTwice += row.twice;
  }
  return { last, endedTwice };
}

/** Every one of so many jobs succeeded, and its end was written once. */
export async function expectEachEndedOnce(sql: SQL, queue: string, jobs: number): Promise<void> {
  expect(await auditQueue(sql, queue)).toEqual({
    last: jobs === 0 ? {} : { succeeded: jobs },
    endedTwice: 0,
  });
}
