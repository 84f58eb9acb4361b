import { type JobId, parseJobId } from "../../plugin/job-id.ts";
import type { JobStore } from "../../plugin/store/job-store.ts";
import type { HeldLease } from "../jobs-conformance.ts";

/** Locks on jobs, as a database has them on rows, for a model that by itself never waits. */
export class LeaseLocks {
  readonly #held = new Map<string, Lock>();

  hold(jobId: string): HeldLease {
    const row = parseJobId(jobId)?.row ?? "";
    const lock = { waited: Promise.withResolvers<void>(), released: Promise.withResolvers<void>() };
    this.#held.set(row, lock);
    return {
      waited: () => lock.waited.promise,
      release: async () => {
        this.#held.delete(row);
        lock.released.resolve();
      },
    };
  }

  isHeld({ row }: JobId): boolean {
    return this.#held.has(row);
  }

  /** Resolves when nobody holds the job. */
  async wait({ row }: JobId): Promise<void> {
    for (let lock = this.#held.get(row); lock; lock = this.#held.get(row)) {
      lock.waited.resolve();
      await lock.released.promise;
    }
  }
}

interface Lock {
  readonly waited: PromiseWithResolvers<void>;
  readonly released: PromiseWithResolvers<void>;
}

/** The store whose settlements and renewals wait for who holds the job, and decide after that. */
export function withLocks(store: JobStore, locks: LeaseLocks): JobStore {
  return {
    ...store,
    async renew(lease, call) {
      await locks.wait(lease.id);
      return store.renew(lease, call);
    },
    async complete(lease, call) {
      await locks.wait(lease.id);
      return store.complete(lease, call);
    },
    async fail(lease, failure, call) {
      await locks.wait(lease.id);
      return store.fail(lease, failure, call);
    },
  };
}
