import type { JobSession } from "./job-session.ts";

/** What a statement that moves jobs is made of. All of it is SQL; `l` is the job's row, locked. */
export interface JobMove {
  /** What comes before in the same statement: each a CTE, with its name. */
  readonly first?: readonly string[];
  /** Which rows are locked, of `job j`: keys only, since it is looked at before any wait. Joined rows come as `given`. */
  readonly which: string;
  /** Something that the rows are joined with, as `given`; its columns are also in `l`. */
  readonly given?: string;
  /** The guard, looked at after the row is locked. */
  readonly guard: string;
  /** The states that the job goes through, a `text[]`. Empty: it stays where it is, and only `set` happens. */
  readonly path: string;
  /** Why, one for each state of the path, a `text[]`; null where there is nothing to say. Default: all null. */
  readonly codes?: string;
  /** Until when the attempt holds the job, for a path that ends in `running`; ignored otherwise. */
  readonly leaseUntil?: string;
  /** Further assignments of `job j` from `l`. State, revision, code, lease, entered and finish are set already. */
  readonly set?: string;
  /** Further queries that change something, of `target l` and in the same statement: each a CTE, with its name. */
  readonly also?: readonly string[];
  /** What the statement returns, of `j` as it is afterwards and of `l` as it was. */
  readonly returning: string;
}

/**
 * The one statement that moves jobs: it locks the rows, looks at the guard, writes the job and one event for each state on the way. So the
 * row is always the fold of its events, revisions have no gaps, and a guard is never older than the lock.
 */
export function moveJobs({ clock, table }: JobSession, move: JobMove): string {
  const {
    first = [],
    which,
    given,
    guard,
    path,
    codes = "null::text[]",
    leaseUntil = "null",
    set,
    also = [],
    returning,
  } = move;
  const last = "l.path[cardinality(l.path)]";
  const moves = "cardinality(l.path) > 0";
  return `
    with ${first
      .map(
        (query) => `${query},
    `,
      )
      .join("")}locked as materialized (
      select j.*${given === undefined ? "" : ", given.*"} from ${table("job")} j${given === undefined ? "" : `, ${given}`}
      where ${which} for update of j
    ),
    target as materialized (
      select l.*, (${path})::text[] as path, (${codes})::text[] as codes from locked l where ${guard}
    ),
    moved as (
      update ${table("job")} j set
        state = coalesce(${last}, l.state),
        revision = l.revision + cardinality(l.path),
        code = case when not ${moves} then l.code
          when ${last} in ('failed', 'attention_required') then l.codes[cardinality(l.path)] end,
        lease_until = case when not ${moves} then l.lease_until when ${last} = 'running' then ${leaseUntil} end,
        entered = l.entered and not ${moves},
        finished_at = case when ${last} in ('completed', 'failed', 'cancelled') then ${clock} end${set === undefined ? "" : `,\n        ${set}`}
      from target l where j.id = l.id
      returning ${returning}
    ),
    told as (
      insert into ${table("event")} (job, revision, at, type, state, code)
      select l.id, l.revision + step.n, ${clock}, 'job-lifecycle-changed', step.state, l.codes[step.n]
      from target l, unnest(l.path) with ordinality as step (state, n)
    )${also.map((query) => `,\n    ${query}`).join("")}
    select * from moved`;
}
