import type { SQL } from "bun";
import type { JobProjectionEvent } from "../../lifecycle/job-events.ts";
import type { JobLifecycleState } from "../../lifecycle/job-lifecycle.ts";
import type { JobSnapshot } from "../../lifecycle/job-snapshot.ts";
import { reduceJobSnapshot } from "../../lifecycle/reduce-job-snapshot.ts";
import { fromJson } from "../records/record-types.ts";

/**
 * Throws unless all jobs in the schema of the connection keep the invariants: the row is the fold of its events, revisions have no gaps, no
 * artifact counts that a lost attempt left behind, checkpoints form a chain, and counters count what is there.
 */
export async function checkJobHost(sql: SQL): Promise<void> {
  const problems: string[] = [];
  const jobs: Job[] = await sql`
    select id::text, host_id, state, revision, attempts, dispatch, delivery, settled_by, log_count, artifact_sequence,
      resumed_from, provider_id, provider_version, manifest_digest, input::text, configuration::text, configuration_digest
    from job`;
  for (const job of jobs) {
    const events: { revision: number; type: string; state: JobLifecycleState }[] =
      await sql`select revision, type, state from event where job = ${job.id} order by revision`;
    const tell = (problem: string): void =>
      void problems.push(`job ${job.id} (${events.map(({ state }) => state).join(" ")}): ${problem}`);
    checkFold(job, events, tell);
    await checkArtifacts(sql, job, events, tell);
    await checkCheckpoints(sql, job, tell);
    await checkLog(sql, job, tell);
  }
  if (problems.length > 0) throw new Error(`the job host is not as it should be:\n${problems.join("\n")}`);
}

/** What is looked at of a job's row. */
interface Job {
  readonly id: string;
  readonly host_id: string;
  readonly state: JobLifecycleState;
  readonly revision: number;
  readonly attempts: number;
  readonly dispatch: number;
  readonly delivery: number;
  readonly settled_by: string | null;
  readonly log_count: number;
  readonly artifact_sequence: number;
  readonly resumed_from: number | null;
  readonly provider_id: string;
  readonly provider_version: string;
  readonly manifest_digest: string;
  readonly input: string;
  readonly configuration: string;
  readonly configuration_digest: string;
}

type Events = readonly {
  readonly revision: number;
  readonly type: string;
  readonly state: JobLifecycleState;
}[];
type Tell = (problem: string) => void;

function checkFold(job: Job, events: Events, tell: Tell): void {
  let snapshot: JobSnapshot | undefined;
  try {
    for (const event of events) snapshot = reduceJobSnapshot(snapshot, eventOf(job, event));
  } catch (error) {
    return tell(`its events are no history: ${(error as Error).message}`);
  }
  if (snapshot?.state !== job.state) tell(`its row says ${job.state}`);
  if (snapshot?.revision !== job.revision)
    tell(`its row has revision ${job.revision}, its events ${snapshot?.revision ?? 0}`);
  const runs = events.filter(({ state }) => state === "running").length;
  if (job.attempts > runs) tell(`${job.attempts} attempts, but it ran ${runs} times`);
}

function eventOf(job: Job, { revision, type, state }: Events[number]): JobProjectionEvent {
  const reference = { hostId: job.host_id, jobId: job.id };
  if (type !== "job-accepted") return { type: "job-lifecycle-changed", revision, reference, state };
  return {
    type,
    revision: revision as 1,
    reference,
    provider: {
      id: fromJson(job.provider_id),
      version: fromJson(job.provider_version),
      manifestDigest: job.manifest_digest,
    },
    input: JSON.parse(job.input),
    configuration: {
      value: JSON.parse(job.configuration),
      digest: job.configuration_digest,
      providerManifestDigest: job.manifest_digest,
    },
  };
}

/** Who may have written what counts: the holder of a running job, the one that completed it, and whoever a checkpoint vouches for. */
async function checkArtifacts(sql: SQL, job: Job, events: Events, tell: Tell): Promise<void> {
  const artifacts: { sequence: number; attempt: string; covered: boolean }[] = await sql`
    select distinct on (a.role, a.path) a.sequence, a.attempt, a.sequence <= coalesce((select c.artifact_sequence from checkpoint c
      where c.job = a.job and c.discarded_at is null order by c.ordinal desc limit 1), 0) as covered
    from artifact a where a.job = ${job.id} and a.discarded_at is null order by a.role, a.path, a.sequence desc`;
  const owner = ownerOf(job, events);
  for (const { sequence, attempt, covered } of artifacts) {
    if (sequence > job.artifact_sequence) tell(`artifact ${sequence} was never counted`);
    if (owner !== undefined && !covered && attempt !== owner)
      tell(`artifact ${sequence} of the lost attempt ${attempt} counts`);
  }
}

/** The attempt whose artifacts count; undefined when any may: a person was or is to look at them, or an end left them as they were. */
function ownerOf(job: Job, events: Events): string | undefined {
  switch (job.state) {
    case "running":
      return `${job.dispatch}.${job.delivery}`;
    case "queued":
    case "waiting":
      return "nobody";
    case "completed": {
      if (events.at(-2)?.state !== "running") return undefined;
      const [dispatch = "", , delivery = ""] = (job.settled_by ?? "").split("/");
      return `${dispatch}.${delivery}`;
    }
    default:
      return undefined;
  }
}

async function checkCheckpoints(sql: SQL, job: Job, tell: Tell): Promise<void> {
  const rows: { ordinal: number; parent: number | null }[] = await sql`
    select ordinal, parent from checkpoint where job = ${job.id} and discarded_at is null order by ordinal`;
  for (const [index, { ordinal, parent }] of rows.entries()) {
    const before = rows[index - 1]?.ordinal ?? null;
    if (parent !== before)
      tell(`checkpoint ${ordinal} follows ${parent ?? "none"}, and ${before ?? "none"} is before it`);
  }
  const resumed = job.resumed_from;
  if (resumed !== null && job.state === "running" && !rows.some(({ ordinal }) => ordinal === resumed))
    tell(`it resumed from checkpoint ${resumed}, which does not count`);
}

async function checkLog(sql: SQL, job: Job, tell: Tell): Promise<void> {
  const [log] =
    await sql`select count(*)::int as lines, coalesce(max(ordinal), 0) as last from log where job = ${job.id}`;
  if (log?.lines !== job.log_count || log.last !== log.lines)
    tell(`${log?.lines ?? 0} lines up to ${log?.last ?? 0}, and ${job.log_count} counted`);
}
