import { newJob, problem } from "../../postgres/support/jobs.ts";
import type { JobsHost } from "../../postgres/support/jobs-host.ts";

/** Producers and workers that go on through failures, and what they were told. */
export interface Load {
  /** Ids of the jobs whose enqueue was answered. */
  readonly accepted: Set<string>;
  /** Ids of the jobs whose completion was answered. */
  readonly completed: Set<string>;
  /** Jobs whose claims were answered, by id. */
  readonly claimed: Map<string, number>;
  /** How often each answer came. */
  readonly answers: Map<string, number>;
  /** Lets everybody finish the call at hand. */
  stop(): Promise<void>;
}

/** Keys are asked for again until they are answered, completions too: so no answer stays unknown. */
export function startLoad(jobs: JobsHost, producers = 8, workers = 8): Load {
  const load = {
    accepted: new Set<string>(),
    completed: new Set<string>(),
    claimed: new Map<string, number>(),
    answers: new Map<string, number>(),
  };
  let stopped = false;
  const told = (answer: string): void => {
    load.answers.set(answer, (load.answers.get(answer) ?? 0) + 1);
  };
  const untilAnswered = async <T extends Parameters<typeof problem>[0]>(
    call: () => Promise<T>,
  ): Promise<T> => {
    for (;;) {
      const result = await call();
      told(problem(result));
      if (!problem(result).startsWith("runtime:")) return result;
      await Bun.sleep(20);
    }
  };
  const produce = async (): Promise<void> => {
    while (!stopped) {
      const request = newJob();
      const stored = await untilAnswered(() => jobs.producer.enqueue(request));
      if (stored.ok) load.accepted.add(stored.value.job_id);
    }
  };
  const work = async (): Promise<void> => {
    while (!stopped) {
      const claimed = await jobs.worker.claim({ queue: "mail" });
      told(problem(claimed));
      if (!claimed.ok) {
        await Bun.sleep(5);
        continue;
      }
      const { job_id, lease_token } = claimed.value;
      load.claimed.set(job_id, (load.claimed.get(job_id) ?? 0) + 1);
      const done = await untilAnswered(() => jobs.worker.complete({ job_id, lease_token }));
      if (done.ok) load.completed.add(job_id);
    }
  };
  const all = [...Array.from({ length: producers }, produce), ...Array.from({ length: workers }, work)];
  return {
    ...load,
    async stop() {
      stopped = true;
      await Promise.all(all);
    },
  };
}
