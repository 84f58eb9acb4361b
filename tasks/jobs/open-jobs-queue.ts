import { quoteIdentifier } from "../../plugin/store/schema/identifier.ts";
import { createTrouble } from "./create-trouble.ts";
import type { JobsQueue } from "./jobs-queue.ts";
import type { CheckedProviderOptions } from "./options.ts";
import type { RecordDatabase } from "./records/record-database.ts";

/** What the parts of a provider share, over its connections. `clock` is the one clock of the record's statements. */
export function openJobsQueue(
  options: CheckedProviderOptions,
  database: RecordDatabase,
  clock: string,
): JobsQueue {
  const { jobs, queue, schema, leaseSeconds, onError } = options;
  return {
    jobs,
    leaseSeconds,
    trouble: createTrouble(onError),
    records: {
      queue,
      clock,
      table: (name) => `${quoteIdentifier(schema)}.${name}`,
      query: (text, values) => database.query(text, values),
    },
  };
}
