import { AnswerSize } from "./answer-size.ts";
import { LowWater } from "./low-water.ts";
import { reapExpiredLeases } from "./queries/reap-expired-leases.ts";
import { Reaper } from "./reaper.ts";
import type { SqlContext } from "./sql-context.ts";

/** What this process remembers of a queue, all of it hints: where to look for ready jobs and for expired leases, and how many to ask for. */
export interface QueueWater {
  readonly ready: LowWater;
  readonly reaper: Reaper;
  readonly answers: AnswerSize;
}

/** One {@link QueueWater} for each queue, by hash, made on first use. */
export function queueWaters(sql: SqlContext): (queueHash: string) => QueueWater {
  const reap = reapExpiredLeases(sql);
  const waters = new Map<string, QueueWater>();
  return (queueHash) => {
    let water = waters.get(queueHash);
    if (water === undefined) {
      water = { ready: new LowWater(), reaper: new Reaper(reap, queueHash), answers: new AnswerSize() };
      waters.set(queueHash, water);
    }
    return water;
  };
}
