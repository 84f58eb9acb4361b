import type { JobPage, JobStatus } from "../provider.ts";
import { jobWithRequest, statusOf, summaryColumns, summaryOf } from "./job-row.ts";
import type { Queue } from "./queue.ts";

/** What is known of a job, from one snapshot and without a lock. Null once it has been pruned, or when it never was. */
export async function getJob(queue: Queue, jobId: string): Promise<JobStatus | null> {
  if (!isUuid(jobId)) return null;
  const { rows } = await queue.db.executeSql(
    `select ${summaryColumns}, j.output from ${jobWithRequest(queue)} where j.name = $1 and j.id = $2::uuid`,
    [queue.name, jobId],
  );
  const [row] = rows;
  return row === undefined || row["task"] === null ? null : statusOf(row); // what others put into the queue is no task
}

/** One page along the primary key. */
export async function listJobs(
  queue: Queue,
  query: { readonly tasks: readonly string[]; readonly limit: number; readonly after?: string },
): Promise<JobPage> {
  const { rows } = await queue.db.executeSql(
    `select ${summaryColumns} from ${jobWithRequest(queue)}
     where j.name = $1 and j.data->>'task' = any($2::text[]) and ($3::uuid is null or j.id > $3::uuid)
     order by j.id limit $4`,
    [queue.name, query.tasks, query.after ?? null, query.limit + 1],
  );
  const jobs = rows.slice(0, query.limit).map(summaryOf);
  return { jobs, next: rows.length > query.limit ? (jobs.at(-1)?.jobId ?? null) : null };
}

/** Who holds a deduplication key. Never writes. */
export async function lookupKey(
  queue: Queue,
  key: string,
): Promise<{ readonly jobId: string; readonly status: JobStatus | null } | null> {
  const { rows } = await queue.db.executeSql(
    `select job_id::text as id from ${queue.tables.key} where queue = $1 and key = $2`,
    [queue.name, key],
  );
  const jobId = rows[0]?.["id"] as string | undefined;
  return jobId === undefined ? null : { jobId, status: await getJob(queue, jobId) };
}

/** The queue's own id, which lives as long as its rows do. */
export async function queueIdentity({
  db,
  tables,
  name,
}: Queue): Promise<{ readonly kind: string; readonly id: string }> {
  const { rows } = await db.executeSql(`select id::text as id from ${tables.queue} where queue = $1`, [name]);
  const id = rows[0]?.["id"] as string | undefined;
  if (id === undefined) throw new Error("the queue has lost its row");
  return { kind: "postgres", id };
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
