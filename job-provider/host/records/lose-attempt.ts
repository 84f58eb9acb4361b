import type { JobSession } from "./job-session.ts";

/**
 * The one rule of how an open job `l` goes on when its present attempt is gone, as the path of a move; a job that no attempt held keeps its
 * attempts. Who entered a provider that has external effects leaves a question for a person; spent attempts end the job; any other is
 * queued again, and `running` when it is taken in the same statement. An attempt that never called its provider is no attempt: see
 * {@link attemptsLeftBy}.
 */
export function lostPath(then: "queued" | "running", { spent = attemptsSpent }: LossRule = {}): string {
  const again = then === "running" ? "'{waiting,queued,running}'" : "'{waiting,queued}'";
  const untouched =
    then === "running" ? "'{running}'" : "case when l.state = 'waiting' then '{queued}' else '{}' end";
  return `case when ${isParked} then '{attention_required}' when ${spent} then '{failed}'
    when l.state = 'running' then ${again} else ${untouched} end`;
}

/** Why, for each state of {@link lostPath}. `code` is what an attempt that goes on is said to have met: a literal, or null. */
export function lostCodes({ spent = attemptsSpent, code = "ATTEMPT_LOST" }: LossRule = {}): string {
  const first = code === null ? "null" : `array['${code}']`;
  return `case when ${isParked} then array['ATTEMPT_LOST'] when ${spent} then array['ATTEMPTS_EXHAUSTED']
    when l.state = 'running' then ${first} end`;
}

/** What a loss is judged by. */
export interface LossRule {
  /** When no further attempt is left, as SQL. Default: all are used up. */
  readonly spent?: string;
  readonly code?: "ATTEMPT_LOST" | null;
}

/** The attempt that is gone never called its provider: files, a store, the database or the process stood in the way, not the work. */
export const neverEntered = "(l.state = 'running' and not l.entered)";

/** How many such attempts in a row do not count. After them each does: a job that can never be laid out has to end. */
const freeTries = 10;

const isFree = `(${neverEntered} and l.unentered < ${freeTries})`;

const attemptsSpent = `l.attempts >= l.max_attempts and not ${isFree}`;

/** The attempts of a job `l` after a loss, as SQL: the one that is gone counts, unless it was one of the first in a row that never called the provider. */
export const attemptsLeftBy: string = `l.attempts - case when ${isFree} then 1 else 0 end`;

/** How many attempts in a row have ended without calling the provider, after a loss of `l`, as SQL. */
export const unenteredAfter: string = `l.unentered + case when ${neverEntered} then 1 else 0 end`;

/** Only the outside world knows what became of it. */
const isParked = "l.state = 'running' and l.entered and l.recovery = 'reconcile-external-effect'";

/**
 * Discards the artifacts that an attempt leaves behind, unless a person is to look at them: all but those that the newest checkpoint covers.
 * A CTE for a move along {@link lostPath}. It looks at artifacts before the job is locked, so the attempt must be fenced out already.
 */
export function discardLost({ clock, table }: JobSession): string {
  return `discarded as (
      update ${table("artifact")} a set discarded_at = ${clock} from target l
      where a.job = l.id and a.discarded_at is null and cardinality(l.path) > 0
        and l.path <> '{attention_required}'::text[]
        and a.sequence > coalesce((select c.artifact_sequence from ${table("checkpoint")} c
          where c.job = l.id and c.discarded_at is null order by c.ordinal desc limit 1), 0)
    )`;
}
