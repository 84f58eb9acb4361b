import { type ChaosRun, drawFrom } from "./chaos-run.ts";

/** How an attempt ends: as done, as failed for now, or as failed for good. */
export type Ending = "complete" | "retry" | "drop";

/** What a handler does in one attempt. */
export interface Conduct {
  /** How long it works, in ms; or how long past the end of its lease. */
  readonly work: { readonly forMs: number } | { readonly pastLeaseMs: number };
  /** Renews its lease while it works. */
  readonly renews: boolean;
  readonly ending: Ending;
  /** Makes the very call that ended it once more, as if the answer had been lost. */
  readonly asksAgain: boolean;
}

/**
 * The same for the same attempt, in whatever process it runs. A job in eight is heavy: its odd attempts outlast their leases by little, when
 * nobody may have noticed yet, or by more, when the next attempt is at work; and its even ones take long enough for that.
 */
export function conductOf(run: ChaosRun, key: string, attempt: number): Conduct {
  const asksAgain = drawFrom(run, "again", key, attempt)(4) === 0;
  return { ...workOf(run, key, attempt), asksAgain };
}

function workOf(run: ChaosRun, key: string, attempt: number): Omit<Conduct, "asksAgain"> {
  const draw = drawFrom(run, "conduct", key, attempt);
  const leaseMs = run.leaseSeconds * 1000;
  if (drawFrom(run, "heavy", key)(8) === 0) {
    const late = { pastLeaseMs: draw(3) === 0 ? 50 + draw(400) : 1 + draw(8) };
    if (attempt % 2 === 1) return { work: late, renews: false, ending: draw(6) === 0 ? "retry" : "complete" };
    return { work: { forMs: leaseMs * 0.2 + draw(leaseMs * 0.4) }, renews: false, ending: "complete" };
  }
  const chance = draw(100);
  if (chance < 4) return { work: { forMs: leaseMs * 1.5 }, renews: true, ending: "complete" };
  const work = { forMs: 5 + draw(60) };
  if (chance < 8) return { work, renews: false, ending: "drop" };
  if (chance < 22) return { work, renews: false, ending: "retry" };
  return { work, renews: false, ending: "complete" };
}
