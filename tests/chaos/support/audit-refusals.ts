import { parseJobId } from "../../../plugin/job-id.ts";
import type { Stored, StoredMove } from "./audit.ts";
import type { LeaseAnswer, LeaseCall, LedgerEntry } from "./ledger.ts";

/** How long before its lease's end a call must have been answered for its refusal to be wrong, in ms: clocks are read in steps. */
const marginMs = 50;

/**
 * Tells of each refusal that nothing explains: of a call whose own token and operation are what the job was settled by, and of one under a
 * lease that still ran and that nothing had settled.
 */
export function auditRefusals(
  entries: readonly LedgerEntry[],
  { jobs, moves }: Stored,
  find: (what: string) => void,
): void {
  const byRow = new Map(jobs.map((job) => [job.row, job]));
  const movesOf = Map.groupBy(moves, ({ row }) => row);
  const spent = new Set(moves.flatMap(({ place, token }) => (place === "lease" ? [] : [token])));
  const calls = new Map<string, LeaseCall>();
  for (const each of entries) {
    if (each.entry === "calling") calls.set(`${each.token} ${each.how}`, each);
    if (each.entry !== "answered" || each.answer !== "invalid_lease") continue;
    const { how, token, attempt, job: id, at } = each;
    const row = parseJobId(id)?.row ?? "";
    const which = `${how} of attempt ${attempt} of ${id}`;
    const job = byRow.get(row);
    if (how !== "renew" && job?.token === token && job.operation === operationOf(how))
      find(`${which} was refused, and it is the outcome`);
    else if (how === "retry" && stillStood(each, movesOf.get(row) ?? []))
      find(`${which} was refused, and nobody had claimed the job since it was done`);
    else if (!spent.has(token) && at + marginMs < (calls.get(`${token} ${how}`)?.atLeastUntil ?? 0))
      find(`${which} was refused, and its lease had not ended`);
  }
}

function operationOf(how: "complete" | "retry" | "drop"): string {
  return how === "complete" ? "c" : "f";
}

/** Whether a retry had put the job back, and the answer came before the next claim. */
function stillStood({ token, at }: LeaseAnswer, moves: readonly StoredMove[]): boolean {
  const back = moves.findIndex((move) => move.place === "ready" && move.token === token);
  if (back === -1) return false;
  const next = moves.slice(back).find(({ place }) => place === "lease");
  return next === undefined || at + marginMs < next.at;
}
