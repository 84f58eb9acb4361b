import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import type { Ending } from "./conduct-of.ts";
import type { Variant } from "./intent-of.ts";

/** What a process says it did, in the order in which it did it. Tokens stand here as their digests, as in the database. */
export type LedgerEntry =
  | { readonly entry: "asking"; readonly key: string; readonly variant: Variant }
  | {
      readonly entry: "accepted";
      readonly key: string;
      readonly variant: Variant;
      readonly job: string;
      readonly created: boolean;
    }
  | { readonly entry: "refused"; readonly key: string; readonly variant: Variant; readonly code: string }
  | { readonly entry: "started"; readonly job: string; readonly attempt: number; readonly token: string }
  | LeaseCall
  | LeaseAnswer
  /** An answer that is neither a result, nor a refusal to be expected, nor an outage. */
  | { readonly entry: "odd"; readonly operation: string; readonly answer: string; readonly detail: string }
  | { readonly entry: "trouble"; readonly what: string };

/** A call under a lease that is about to be made for the first time. */
export interface LeaseCall {
  readonly entry: "calling";
  readonly how: Ending | "renew";
  readonly job: string;
  readonly attempt: number;
  readonly token: string;
  /** When, in ms since 1970. The server runs on this machine: its clock is the same. */
  readonly at: number;
  /** The latest end that the lease can have, in ms since 1970. */
  readonly until: number;
  /** The latest end that it was told of: it has no earlier one. In ms since 1970. */
  readonly atLeastUntil: number;
}

/** What such a call was told in the end, and once more where it was made again after an answer. */
export interface LeaseAnswer {
  readonly entry: "answered";
  readonly how: Ending | "renew";
  readonly job: string;
  readonly attempt: number;
  readonly token: string;
  /** When, in ms since 1970; later than the database's decision. */
  readonly at: number;
  /** `ok`, a domain code, or the runtime failure after which nobody asked again. */
  readonly answer: string;
  /** Of a failure that was taken: what became of the job. */
  readonly status?: "queued" | "failed";
}

/** An append-only file. What {@link write} returned from is kept, whatever kills the process. */
export interface Ledger extends Disposable {
  write(entry: LedgerEntry): void;
}

export function openLedger(path: string): Ledger {
  const file = openSync(path, "a");
  return {
    write: (entry) => void writeSync(file, `${JSON.stringify(entry)}\n`),
    [Symbol.dispose]: () => closeSync(file),
  };
}

/** Everything that was written; a last line that a death cut short is no entry. None when the process died before its first. */
export function readLedger(path: string): LedgerEntry[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  lines.pop();
  return lines.map((line) => JSON.parse(line) as LedgerEntry);
}
