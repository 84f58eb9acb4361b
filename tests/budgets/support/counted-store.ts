import { Database } from "../../../plugin/store/database.ts";
import type { DriverName } from "../../../plugin/store/drivers/driver.ts";
import { PostgresJobStore } from "../../../plugin/store/postgres-job-store.ts";
import { databaseClock } from "../../../plugin/store/sql-context.ts";

/** A store of jobs on a real database, and the statements that it sends. */
export interface CountedStore {
  readonly store: PostgresJobStore;
  /** Texts, in the order in which they were sent. A test may empty it. */
  readonly sent: string[];
}

/** Opens a registered store that never maintains by itself and listens to nothing. Close it after use. */
export async function openCountedStore(url: string, driver: DriverName): Promise<CountedStore> {
  const database = await Database.open({
    driver,
    transactionPooler: false,
    resolveUrl: () => Promise.resolve(url),
  });
  const sent: string[] = [];
  /** The very database, counting. */
  const counting = new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...values: unknown[]) => {
        if (name === "query") sent.push(String(values[1]));
        return (value as (...given: unknown[]) => unknown).apply(target, values);
      };
    },
  });
  const store = new PostgresJobStore(counting, {
    instanceKey: "jobs",
    schema: "jobs",
    clock: databaseClock,
    leaseSeconds: 30,
    retryBaseSeconds: 1,
    retryMaxSeconds: 1,
    maintenanceIntervalMs: 3_600_000,
    pollIntervalMs: 1000,
    listen: false,
    onDeaf: () => undefined,
    names: ["mail", "other", "producer", "worker"],
  });
  await store.register();
  return { store, sent };
}
