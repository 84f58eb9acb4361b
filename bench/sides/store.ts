import { newLeaseTokens } from "../../plugin/lease-token.ts";
import { Database } from "../../plugin/store/database.ts";
import type { LeaseProof } from "../../plugin/store/job-store.ts";
import { beginning, type Place } from "../../plugin/store/low-water.ts";
import { type ClaimedRow, claimReadyJobs } from "../../plugin/store/queries/claim-ready-jobs.ts";
import { completeFreeLeases } from "../../plugin/store/queries/complete-leases.ts";
import { databaseClock, sqlContext } from "../../plugin/store/sql-context.ts";
import { open as openJobs } from "./jobs.ts";
import { leaseSeconds } from "./jobs-host.ts";
import { type Load, queueName, type Side, type SideOptions } from "./side.ts";
import { takeInLanes } from "./take-in-lanes.ts";

/**
 * The statements of `lenso.jobs@1` without what is around them: nobody is authorised, no request is checked, no call is answered by
 * itself. What the engine does, apart from the front door; no figure of what a caller gets.
 */
export async function open(options: SideOptions): Promise<Side> {
  const front = await openJobs({ ...options, variant: "bun" });
  const db = await Database.open({
    driver: "bun",
    transactionPooler: false,
    resolveUrl: async () => options.databaseUrl,
  });
  const sql = sqlContext(options.schema, databaseClock);
  const claim = claimReadyJobs(sql);
  const complete = completeFreeLeases(sql);
  const owner = "app";
  return {
    ...front,
    settings: (load) => `${batchOf[load].lanes} × ${batchOf[load].size} in a statement`,
    async work(load, seen) {
      const { lanes, size } = batchOf[load];
      let from: Place = beginning;
      return takeInLanes({
        lanes,
        async take(stopping) {
          let taken = 0;
          let ending: LeaseProof[] = [];
          do {
            const tokens = newLeaseTokens(size);
            const tokenHashes = tokens.map((token) => token.hash);
            const request = { queue: queueName, owner, from, tokenHashes, leaseSeconds };
            const claimed = await claim(db, request, ending);
            if (claimed.completed.size !== ending.length) throw new Error("a lease was not completed");
            seen.ended(ending.length);
            from = claimed.last ?? beginning;
            for (const { payload } of claimed.rows) seen.entered(Number(JSON.parse(payload).marker));
            ending = claimed.rows.map((row) => proofOf(row, tokens[row.place - 1]?.hash ?? "", owner));
            taken += ending.length;
          } while (ending.length > 0 && !stopping.aborted);
          if (ending.length > 0) seen.ended((await complete(db, ending)).size);
          return taken;
        },
        wait: () => Bun.sleep(2),
      });
    },
    async close() {
      await db.close(5000);
      await front.close();
    },
  };
}

function proofOf({ row, nonce }: ClaimedRow, tokenHash: string, owner: string): LeaseProof {
  return { id: { row, nonce }, tokenHash, owner };
}

const batchOf: Readonly<Record<Load, { readonly lanes: number; readonly size: number }>> = {
  default: { lanes: 1, size: 1 },
  batch: { lanes: 1, size: 500 },
  best: { lanes: 2, size: 500 },
  prompt: { lanes: 1, size: 1 },
};
