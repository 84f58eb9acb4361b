import type { JobsClient } from "../../capability/index.ts";
import type { BatchedRecords } from "./records/batched-records.ts";
import type { RecordSession } from "./records/record-session.ts";

/** What the parts of the provider share. */
export interface JobsQueue {
  readonly jobs: JobsClient;
  /** The records of the queue, on the provider's own connections. */
  readonly records: RecordSession;
  /** The same for the calls that come in great numbers. */
  readonly batched: BatchedRecords;
  /**
   * For what takes a deduplication key: it waits for whoever is taking the same one, an open transaction perhaps, and must not hold all
   * connections meanwhile.
   */
  readonly takeKey: <T>(work: () => Promise<T>) => Promise<T>;
  readonly leaseSeconds: number;
  readonly trouble: Trouble;
}

/** Background trouble of one provider, told to the caller once each time it begins. */
export interface Trouble {
  /** Tells about a failure unless this subject was already failing. */
  begins(subject: string, error: unknown): void;
  /** The subject works again: its next failure is told. */
  ends(subject: string): void;
}
