// Run by conformance.test.ts as a file of `bun test`: the suite over a provider that breaks one promise, which the environment names.

import { createMemoryTasks } from "../../memory/create-memory-tasks.ts";
import { MemoryTable } from "../../memory/memory-table.ts";
import type { TaskProvider } from "../../provider.ts";
import { describeTaskProviderConformance } from "../index.ts";

type Provider = Required<TaskProvider>;
const { retry, settle, giveBack } = MemoryTable.prototype;

/** Each breaks one promise, of the provider that it gets or of the table behind all of them. */
const faults: Record<string, (inner: Provider) => Partial<Provider>> = {
  none: () => ({}),
  "no fence on settle": () => {
    MemoryTable.prototype.settle = function (jobId, _, outcome) {
      return settle.call(this, jobId, this.jobs.get(jobId)?.hold ?? 0, outcome);
    };
    // An attempt that hears of its loss settles nothing: one that is silent does not hear.
    MemoryTable.prototype.onCancelRequest = () => () => undefined;
    return {};
  },
  "no conflict of keys": (inner) => ({
    enqueue: (request) =>
      inner.enqueue(request).catch(async (error: unknown) => {
        const { deduplicationKey: key, transaction } = request;
        const holder =
          key === undefined || transaction !== undefined ? null : await inner.lookupDeduplicationKey(key);
        if (holder?.status) return holder.jobId;
        throw error;
      }),
  }),
  "a lost cancel request": (inner) => ({
    cancel: async (jobId) =>
      (await inner.get(jobId))?.state === "running" ? "requested" : inner.cancel(jobId),
  }),
  "a retry of success": (inner) => ({
    retry: async (jobId) => (await inner.retry(jobId)) || (await inner.get(jobId))?.state === "succeeded",
  }),
  "an unbounded page": (inner) => ({ list: (query) => inner.list({ ...query, limit: 1_000_000 }) }),
  "a run after cancel": (inner) => {
    const cancelled = new Set<string>();
    return {
      async cancel(jobId) {
        if ((await inner.get(jobId))?.state !== "pending") return inner.cancel(jobId);
        cancelled.add(jobId);
        return "cancelled";
      },
      async get(jobId) {
        const status = await inner.get(jobId);
        return status && cancelled.has(jobId)
          ? { ...status, state: "cancelled", result: null, error: null, cancelRequested: true }
          : status;
      },
    };
  },
  "a give-back that counts": () => {
    MemoryTable.prototype.giveBack = function (jobId, hold) {
      giveBack.call(this, jobId, hold);
      const job = this.jobs.get(jobId);
      if (job) Object.assign(job, { attempt: job.attempt + 1, maxAttempts: job.maxAttempts + 1 });
    };
    return {};
  },
  "a retry with all that was left": () => {
    MemoryTable.prototype.retry = function (jobId) {
      const planned = this.jobs.get(jobId)?.request.maxAttempts ?? 0;
      const retried = retry.call(this, jobId);
      const job = this.jobs.get(jobId);
      if (job && retried) job.maxAttempts = Math.max(planned, job.maxAttempts);
      return retried;
    };
    return {};
  },
};

const breakIt = faults[process.env["BROKEN_PROMISE"] ?? "none"];
if (breakIt === undefined) throw new Error("no such fault");

describeTaskProviderConformance({
  name: "broken",
  timeoutMs: 4000,
  async open() {
    const memory = createMemoryTasks();
    return {
      provider() {
        const inner = memory.provider();
        return { ...inner, ...breakIt(inner) };
      },
      expireLeases: async () => memory.lapseClaims(),
      prune: async () => memory.prune(),
      close: async () => undefined,
    };
  },
});
