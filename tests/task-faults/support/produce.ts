import { createTaskQueue, TaskQueueError } from "../../../tasks/index.ts";
import { faultTasks } from "./fault-tasks.ts";
import type { Providers } from "./open-provider.ts";

/** Producers that go on through failures. */
export interface Production {
  /** Jobs whose enqueue was answered. */
  readonly accepted: ReadonlySet<string>;
  /** Codes of the refusals, with how often each came. */
  readonly refusals: ReadonlyMap<string, number>;
  /** Lets every producer finish the call at hand. */
  stop(): Promise<void>;
}

/** Every key is asked for again until it is answered, so no answer stays unknown and no key makes two jobs. */
export function startProducing(providers: Providers, queueName: string, producers = 3): Production {
  const accepted = new Set<string>();
  const refusals = new Map<string, number>();
  const tasks = faultTasks(async () => null);
  const queue = createTaskQueue({ provider: providers.open(queueName), tasks: [tasks.many, tasks.once] });
  let made = 0;
  let stopped = false;
  const untilAnswered = async (deduplicationKey: string): Promise<string> => {
    for (;;) {
      try {
        return await queue.enqueue(tasks.many, null, { deduplicationKey });
      } catch (error) {
        const code = error instanceof TaskQueueError ? error.code : String(error);
        refusals.set(code, (refusals.get(code) ?? 0) + 1);
        await Bun.sleep(20);
      }
    }
  };
  const produce = async (): Promise<void> => {
    while (!stopped) {
      made += 1;
      accepted.add(await untilAnswered(`job-${made}`));
      await Bun.sleep(10);
    }
  };
  const all = Array.from({ length: producers }, produce);
  return {
    accepted,
    refusals,
    async stop() {
      stopped = true;
      await Promise.all(all);
    },
  };
}
