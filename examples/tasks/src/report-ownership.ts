import { createHash } from "node:crypto";
import type { SQL } from "bun";
import type { Identity } from "./identity.ts";
import type { ReportRow } from "./report-input.ts";

/** A report id that belongs to an owner, for the request that he makes now. */
export interface Reservation {
  readonly reportId: string;
  /** The same as before for the same rows, one more for others. */
  readonly revision: number;
}

/** Who owns which report, and which jobs are a report's. A report's owner never changes. */
export interface ReportOwnership {
  /** Takes the report's id for the owner, or finds that it is his. Null when it is somebody else's. */
  reserve(owner: Identity, reportId: string, rows: readonly ReportRow[]): Promise<Reservation | null>;
  /** Makes a job one of the report's, for ever. */
  mapJob(owner: Identity, reservation: Reservation, jobId: string): Promise<void>;
  ownsJob(owner: Identity, jobId: string): Promise<boolean>;
  ownsReport(owner: Identity, reportId: string): Promise<boolean>;
}

/**
 * Ownership in two tables. `reserve`, the queue's `enqueue` and `mapJob` are a transaction each: whoever dies between them leaves a
 * report without a job, or a job that is nobody's. Nobody reaches such a job, and there is no rule by which anybody ever would; its
 * owner gets at it by asking for the same report again.
 */
export function createReportOwnership(sql: SQL): ReportOwnership {
  return {
    async reserve({ realmId, subjectId }, reportId, rows) {
      // One statement, so that requests which come at once get their revisions one after the other.
      const [row] = (await sql`
        insert into task_example_report_owners as held (report_id, realm_id, subject_id, revision, rows_digest)
        values (${reportId}, ${realmId}, ${subjectId}, 1, ${digestOf(rows)})
        on conflict (report_id) do update
          set revision = held.revision + (held.rows_digest <> excluded.rows_digest)::int,
              rows_digest = excluded.rows_digest
          where (held.realm_id, held.subject_id) = (excluded.realm_id, excluded.subject_id)
        returning revision`) as { revision: number }[];
      return row === undefined ? null : { reportId, revision: row.revision };
    },
    async mapJob({ realmId, subjectId }, { reportId, revision }, jobId) {
      const rows = (await sql`
        insert into task_example_report_jobs (job_id, report_id, revision)
        select ${jobId}::uuid, report_id, ${revision}::int from task_example_report_owners
        where report_id = ${reportId} and realm_id = ${realmId} and subject_id = ${subjectId}
        on conflict (job_id) do update set job_id = excluded.job_id
          where (task_example_report_jobs.report_id, task_example_report_jobs.revision)
              = (excluded.report_id, excluded.revision)
        returning job_id`) as unknown[];
      if (rows.length === 0)
        throw new Error(`job ${jobId} cannot be mapped: it or its report belongs elsewhere`);
    },
    async ownsJob({ realmId, subjectId }, jobId) {
      const rows = (await sql`
        select from task_example_report_jobs join task_example_report_owners using (report_id)
        where job_id = ${jobId}::uuid and realm_id = ${realmId} and subject_id = ${subjectId}`) as unknown[];
      return rows.length > 0;
    },
    async ownsReport({ realmId, subjectId }, reportId) {
      const rows = (await sql`
        select from task_example_report_owners
        where report_id = ${reportId} and realm_id = ${realmId} and subject_id = ${subjectId}`) as unknown[];
      return rows.length > 0;
    },
  };
}

/** The deduplication key of a request: the owner is part of it, so no two owners can ever meet in one job. */
export function requestKey({ realmId, subjectId }: Identity, { reportId, revision }: Reservation): string {
  return `report/${sha256(JSON.stringify([realmId, subjectId, reportId, revision]))}`;
}

/** Rows have passed the schema, which puts their members in one order. */
function digestOf(rows: readonly ReportRow[]): string {
  return sha256(JSON.stringify(rows));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
