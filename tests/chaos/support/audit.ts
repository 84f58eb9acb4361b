import { parseJobId } from "../../../plugin/job-id.ts";
import { auditRefusals } from "./audit-refusals.ts";
import type { LeaseAnswer, LeaseCall, LedgerEntry } from "./ledger.ts";

/** A job as the database has it in the end. */
export interface StoredJob {
  /** The row's id, decimal. */
  readonly row: string;
  /** The random bytes of its public id, in hex. */
  readonly nonce: string;
  readonly key: string;
  readonly variant: number;
  /** Where it is: all of `ready`, `lease` and `outcome`. */
  readonly places: readonly string[];
  /** Of its outcome; null without one. */
  readonly attempt: number | null;
  readonly state: string | null;
  readonly operation: string | null;
  readonly token: string | null;
}

/** One arrival of a job in a place, in the order in which they were written. */
export interface StoredMove {
  readonly row: string;
  readonly place: string;
  readonly generation: string | null;
  /** The lease's, or the one by which the job was settled before it came to ready or outcome. */
  readonly token: string | null;
  /** When it was written, by the database's clock, in ms since 1970. */
  readonly at: number;
}

/** What the database holds after a run. */
export interface Stored {
  readonly jobs: readonly StoredJob[];
  readonly moves: readonly StoredMove[];
}

/** What went wrong, each as a sentence, and what there was. All lists are empty when the plugin kept its promises. */
export interface Audit {
  /** Jobs that were accepted and are not there, or have not ended. */
  readonly lost: readonly string[];
  /** Jobs that ended twice, ran again after their end, or that one key made two of. */
  readonly twice: readonly string[];
  /** Calls that were answered although their lease had passed. */
  readonly stale: readonly string[];
  /** Whatever else does not fit together. */
  readonly wrong: readonly string[];
  readonly accepted: number;
  readonly attempts: number;
  readonly settled: number;
  readonly staleRefused: number;
  readonly conflicts: number;
}

/** Holds what the processes wrote down against what the database holds. */
export function audit(entries: readonly LedgerEntry[], { jobs, moves }: Stored): Audit {
  const book = { lost: [], twice: [], stale: [], wrong: [] } as Record<Finding, string[]>;
  const find = (finding: Finding, what: string): void => void book[finding].push(what);
  const byRow = new Map(jobs.map((job) => [job.row, job]));
  const conflicts = auditKeys(entries, jobs, byRow, find);
  const leases = auditLeases(entries, byRow, find);
  auditMoves(moves, byRow, find);
  auditRefusals(entries, { jobs, moves }, (what) => find("wrong", what));
  for (const each of entries) {
    if (each.entry === "odd") find("wrong", `${each.operation} was answered ${each.answer}: ${each.detail}`);
    if (each.entry === "trouble") find("wrong", each.what);
  }
  const accepted = new Set(entries.flatMap((each) => (each.entry === "accepted" ? [each.job] : [])));
  return { ...book, accepted: accepted.size, conflicts, ...leases };
}

type Finding = "lost" | "twice" | "stale" | "wrong";
type Find = (finding: Finding, what: string) => void;
type ByRow = ReadonlyMap<string, StoredJob>;

/** Each key has the one job that its answers name, and each job was asked for. */
function auditKeys(
  entries: readonly LedgerEntry[],
  jobs: readonly StoredJob[],
  byRow: ByRow,
  find: Find,
): number {
  const byKey = new Map<string, StoredJob>();
  for (const job of jobs) {
    if (byKey.has(job.key)) find("twice", `the key ${job.key} has two jobs`);
    byKey.set(job.key, job);
    if (job.places.length !== 1 || job.places[0] !== "outcome")
      find("lost", `the job of ${job.key} is in ${job.places.join(" and ") || "no place"}`);
  }
  const asked = new Set<string>();
  const created = new Set<string>();
  let conflicts = 0;
  for (const each of entries) {
    if (each.entry === "asking") asked.add(`${each.key} ${each.variant}`);
    if (each.entry === "accepted") {
      const id = parseJobId(each.job);
      const job = id && byRow.get(id.row);
      if (!job || job.nonce !== id.nonce)
        find("lost", `${each.job} was accepted for ${each.key} and is not there`);
      else if (job.key !== each.key || job.variant !== each.variant)
        find("twice", `${each.job} was accepted for ${each.key} with ${each.variant} and is another's`);
      if (each.created && created.has(each.key)) find("twice", `${each.key} made a job twice`);
      if (each.created) created.add(each.key);
    }
    if (each.entry === "refused") {
      conflicts += 1;
      const job = byKey.get(each.key);
      if (each.code !== "idempotency_conflict" || !job || job.variant === each.variant)
        find("wrong", `${each.key} with ${each.variant} was refused with ${each.code}`);
    }
  }
  for (const { key, variant } of jobs)
    if (!asked.has(`${key} ${variant}`)) find("wrong", `nobody asked for the job of ${key} with ${variant}`);
  return conflicts;
}

/** Each attempt number was given once, and each answer to a settlement is what the outcome says. */
function auditLeases(
  entries: readonly LedgerEntry[],
  byRow: ByRow,
  find: Find,
): Pick<Audit, "attempts" | "settled" | "staleRefused"> {
  const started = new Set<string>();
  const tokens = new Set<string>();
  const completedBy = new Map<string, string>();
  const calls = new Map<string, LeaseCall>();
  const settled = new Set<string>();
  let staleRefused = 0;
  for (const each of entries) {
    if (each.entry === "started") {
      const which = `attempt ${each.attempt} of ${each.job}`;
      const job = storedJob(byRow, each.job);
      if (started.has(which)) find("twice", `${which} was handed out twice`);
      if (tokens.has(each.token)) find("twice", `the token of ${which} was handed out twice`);
      if (each.attempt > (job?.attempt ?? Infinity)) find("twice", `${which} ran after its end`);
      started.add(which);
      tokens.add(each.token);
    }
    if (each.entry === "calling") calls.set(`${each.token} ${each.how}`, each);
    if (each.entry !== "answered") continue;
    const call = calls.get(`${each.token} ${each.how}`);
    const wasPassed = call !== undefined && call.at >= call.until;
    const which = `${each.how} of attempt ${each.attempt} of ${each.job}`;
    if (wasPassed && each.answer === "ok") find("stale", `${which} was answered, its lease had passed`);
    if (wasPassed && each.answer === "invalid_lease") staleRefused += 1;
    if (each.answer !== "ok" || each.how === "renew") continue;
    settled.add(each.token);
    const fault = faultOf(each, storedJob(byRow, each.job));
    if (fault !== undefined) find(...fault);
    if (each.how !== "complete") continue;
    if ((completedBy.get(each.job) ?? each.token) !== each.token)
      find("twice", `${each.job} was completed by two attempts`);
    completedBy.set(each.job, each.token);
  }
  return { attempts: started.size, settled: settled.size, staleRefused };
}

function storedJob(byRow: ByRow, job: string): StoredJob | undefined {
  return byRow.get(parseJobId(job)?.row ?? "");
}

/** What is wrong with an answered settlement, if anything is. */
function faultOf(
  { how, job: id, attempt, token, status }: LeaseAnswer,
  job: StoredJob | undefined,
): [Finding, string] | undefined {
  if (job === undefined) return ["lost", `${id} was settled and is not there`];
  const isCredited = job.token === token && job.attempt === attempt;
  if (how === "complete" && !(isCredited && job.state === "s" && job.operation === "c"))
    return ["lost", `the completion of attempt ${attempt} of ${id} was answered and is not its outcome`];
  if (status === "failed" && !(isCredited && job.state === "f" && job.operation === "f"))
    return ["lost", `the failure of attempt ${attempt} of ${id} was answered and is not its outcome`];
  // A job that waits for its next attempt ends with a later one.
  if (status === "queued" && !(how === "retry" && job.attempt !== null && job.attempt > attempt))
    return ["wrong", `attempt ${attempt} of ${id} was to be followed by another and was not`];
  return undefined;
}

/** Generations grow, each lease has its own token, and nothing comes after an outcome. */
function auditMoves(moves: readonly StoredMove[], byRow: ByRow, find: Find): void {
  const ended = new Set<string>();
  const generations = new Map<string, bigint>();
  const tokens = new Set<string>();
  for (const { row, place, generation, token } of moves) {
    if (ended.has(row)) find("twice", `row ${row} came to ${place} after its outcome`);
    if (!byRow.has(row)) find("lost", `row ${row} came to ${place} and is not there`);
    if (place === "outcome") ended.add(row);
    if (place !== "lease" || generation === null || token === null) continue;
    if (BigInt(generation) <= (generations.get(row) ?? 0n))
      find("twice", `row ${row} had the generation ${generation} twice`);
    generations.set(row, BigInt(generation));
    if (tokens.has(token)) find("twice", `row ${row} was leased under a token of before`);
    tokens.add(token);
  }
  for (const row of byRow.keys()) if (!ended.has(row)) find("lost", `row ${row} never came to an outcome`);
}
