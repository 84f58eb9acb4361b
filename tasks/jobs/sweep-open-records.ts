import type { DispatchedTable } from "./records/dispatched-table.ts";
import { type OpenRecord, takeOpenRecords } from "./records/take-open-records.ts";

const batch = 100;
/** A sweep ends after so many batches, so that one process does not sweep for ever. */
const maxBatches = 20;

/**
 * Looks at every open record that it is time to look at. `heal` says whether something was wrong with a record and is right now. Rejects
 * when the records cannot be reached.
 */
export async function sweepOpenRecords(
  table: DispatchedTable,
  pace: { readonly leaseSeconds: number; readonly dispatchAgainSeconds: number },
  heal: (record: OpenRecord) => Promise<boolean>,
): Promise<void> {
  for (let done = 0; done < maxBatches; done += 1) {
    const open = await takeOpenRecords(table, { limit: batch, ...pace });
    const healed = await Promise.all(open.map(heal));
    // A batch that only waits for its turn, or whose dispatch fails, is no reason to go on: the next sweep does.
    if (open.length < batch || !healed.includes(true)) break;
  }
}
