import type { JsonValue } from "../../capability/index.ts";
import type { ErrorCode } from "../provider.ts";
import { affected, asBossDb, settledIds } from "./boss.ts";
import type { SqlRunner } from "./database.ts";
import { parsed, type StoredOutcome } from "./job-row.ts";
import { lockJob } from "./lock-job.ts";
import type { Queue } from "./queue.ts";

/** What names an attempt: pg-boss leaves a job alone whose count has moved on, or that is no longer active. */
export interface Attempt {
  readonly jobId: string;
  readonly retryCount: number;
}

export interface Completion {
  readonly claim: Attempt;
  readonly result: JsonValue;
}

export type Ending =
  | { readonly kind: "succeeded"; readonly result: JsonValue }
  | {
      readonly kind: "failed";
      readonly error: ErrorCode;
      readonly final: boolean;
      /** The next attempt begins no sooner, in seconds. */
      readonly afterSeconds: number;
    }
  /** Never entered its handler: due again at once, without the task's delay. */
  | { readonly kind: "given-back" };

/** The attempt as pg-boss's commands take it. */
export function fenced({ jobId, retryCount }: Attempt): { readonly id: string; readonly retryCount: number } {
  return { id: jobId, retryCount };
}

/** Ends claims that must not run. */
export async function cancelClaims({ boss, name }: Queue, claims: readonly Attempt[]): Promise<void> {
  await boss.cancel(name, claims.map(fenced));
}

export type Settlement = "settled" | "lost";

/**
 * Completes attempts in one statement for each distinct result. A cancel request that came since the last pulse needs no look here:
 * it was recorded under the row's lock while the job was active, and makes "completed" read "cancelled".
 */
export async function completeClaims(
  queue: Queue,
  completions: readonly Completion[],
): Promise<Settlement[]> {
  const byResult = Map.groupBy(completions, ({ result }) => JSON.stringify(result));
  const settled = new Set<string>();
  for (const [result, group] of byResult) {
    const attempts = group.map(({ claim }) => fenced(claim));
    const output: StoredOutcome = { result };
    for (const id of settledIds(await queue.boss.complete(queue.name, attempts, output))) settled.add(id);
  }
  return Promise.all(
    completions.map(async ({ claim }) =>
      settled.has(claim.jobId) || (await endedEarlier(queue, claim)) ? "settled" : "lost",
    ),
  );
}

/** Ends one attempt under its row's lock. A cancel request wins over every ending. "lost" when the job was no longer that attempt's. */
export async function endClaim(queue: Queue, claim: Attempt, ending: Ending): Promise<Settlement> {
  const ended = await queue.db.transaction(async (transaction) => {
    const job = await lockJob(queue, transaction, claim.jobId);
    if (job?.state !== "active" || job.retryCount !== claim.retryCount) return false;
    if (ending.kind === "given-back") await discount(queue, transaction, claim);
    return endLocked(queue, transaction, claim, job.flagged ? { kind: "cancelled" } : ending);
  });
  return ended || (await endedEarlier(queue, claim)) ? "settled" : "lost";
}

async function endLocked(
  queue: Queue,
  runner: SqlRunner,
  claim: Attempt,
  ending: Ending | { readonly kind: "cancelled" },
): Promise<boolean> {
  const { boss, name } = queue;
  const { jobId, retryCount } = claim;
  const attempt = fenced(claim);
  const db = asBossDb(runner);
  switch (ending.kind) {
    case "cancelled":
      return affected(await boss.cancel(name, attempt, { db })) > 0;
    case "succeeded": {
      const output: StoredOutcome = { result: JSON.stringify(ending.result) };
      return affected(await boss.complete(name, attempt, output, { db })) > 0;
    }
    case "failed": {
      // pg-boss has no word for "never again": its limit is lowered to the attempts already made.
      if (ending.final)
        await runner.executeSql(
          `update ${queue.tables.job} set retry_limit = retry_count where name = $1 and id = $2::uuid`,
          [name, jobId],
        );
      const output: StoredOutcome = { error: ending.error, attempt: retryCount + 1 };
      const failed = affected(await boss.fail(name, attempt, output, { db })) > 0;
      if (failed && ending.afterSeconds > 0)
        await runner.executeSql(
          `update ${queue.tables.job} set start_after = greatest(start_after, now() + make_interval(secs => $3::float8))
           where name = $1 and id = $2::uuid and state = 'retry'`,
          [name, jobId, ending.afterSeconds],
        );
      return failed;
    }
    case "given-back": {
      const before = await runner.executeSql(
        `select output::text as output from ${queue.tables.job} where name = $1 and id = $2::uuid`,
        [name, jobId],
      );
      const failed = affected(await boss.fail(name, attempt, {}, { db })) > 0;
      await boss.update(name, undefined, { id: jobId, startAfter: 0, db });
      // What the attempt before left is still the last word on the job.
      await runner.executeSql(
        `update ${queue.tables.job} set output = $3::text::jsonb where name = $1 and id = $2::uuid`,
        [name, jobId, before.rows[0]?.["output"] ?? null],
      );
      return failed;
    }
  }
}

/**
 * Leaves a claim out of the count of attempts: as many are left as before. The claim's own number stays used up, or two claims would
 * share a fence.
 */
async function discount({ name, tables }: Queue, runner: SqlRunner, { jobId }: Attempt): Promise<void> {
  await runner.executeSql(
    `update ${tables.job} set retry_limit = retry_limit + 1, data = case when jsonb_typeof(data) = 'object'
       then jsonb_set(data, '{returned}', to_jsonb(coalesce((data->>'returned')::int, 0) + 1)) else data end
     where name = $1 and id = $2::uuid`,
    [name, jobId],
  );
}

/**
 * Whether this very attempt has been settled before, when the answer to it was lost. pg-boss's own recovery leaves another output
 * behind than a worker does, and a later claim another count.
 */
async function endedEarlier({ db, name, tables }: Queue, { jobId, retryCount }: Attempt): Promise<boolean> {
  const { rows } = await db.executeSql(
    `select state::text as state, output from ${tables.job}
     where name = $1 and id = $2::uuid and retry_count = $3 and state <> 'active'`,
    [name, jobId, retryCount],
  );
  const [row] = rows;
  if (row === undefined) return false;
  if (row["state"] === "completed" || row["state"] === "cancelled") return true;
  return (parsed(row["output"]) as StoredOutcome | null)?.attempt === retryCount + 1;
}
