import { quoteIdentifier } from "../../plugin/store/schema/identifier.ts";
import { atMost } from "../at-most.ts";
import { createTrouble } from "./create-trouble.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import type { CheckedProviderOptions } from "./options.ts";
import { batchRecords } from "./records/batched-records.ts";
import type { RecordDatabase } from "./records/record-database.ts";
import type { RecordSession } from "./records/record-session.ts";

/** Enqueues with a key that may wait for another transaction at once, of the 10 connections that a pool has. */
const keyTakers = 3;

/** What the parts of a provider share, over its connections. `clock` is the one clock of the record's statements. */
export function openJobsQueue(
  options: CheckedProviderOptions,
  database: RecordDatabase,
  clock: string,
): JobsQueue {
  const { jobs, queue, schema, leaseSeconds, onError } = options;
  const records: RecordSession = {
    queue,
    clock,
    table: (name) => `${quoteIdentifier(schema)}.${name}`,
    query: (text, values) => database.query(text, values),
  };
  return {
    jobs,
    leaseSeconds,
    trouble: createTrouble(onError),
    records,
    batched: batchRecords(records),
    takeKey: atMost(keyTakers),
  };
}

/** The same queue over other connections. */
export function queryBy(database: RecordDatabase, queue: JobsQueue): JobsQueue {
  const records: RecordSession = {
    ...queue.records,
    query: (text, values) => database.query(text, values),
  };
  return { ...queue, records, batched: batchRecords(records) };
}
