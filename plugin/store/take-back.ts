import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "./database.ts";
import type { LowWater } from "./low-water.ts";
import { undoClaims } from "./queries/undo-claims.ts";
import type { SqlContext } from "./sql-context.ts";

/** A lease that nobody received. */
export interface UndeliveredLease {
  readonly row: string;
  readonly tokenHash: string;
}

export type TakeBack = (db: Database, leases: readonly UndeliveredLease[], ready: LowWater) => Promise<void>;

const maxTries = 6;

/**
 * Returns undelivered leases to the queue, with their attempt. A row that somebody holds locked is tried again for about two
 * seconds; after that, or when the database is away, the lease expires and costs the attempt. Never rejects.
 */
export function takeBack(sql: SqlContext): TakeBack {
  const undo = undoClaims(sql);
  return async (db, leases, ready) => {
    let left = leases;
    for (let tried = 0; left.length > 0 && tried < maxTries; tried += 1) {
      if (tried > 0) await pause(30 * 2 ** tried);
      const done = await undo(db, left).catch(() => new Map<string, string>());
      for (const nextRun of done.values()) ready.lower(nextRun);
      left = left.filter(({ row }) => !done.has(row));
    }
  };
}
