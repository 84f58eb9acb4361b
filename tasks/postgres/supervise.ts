import { cancelRecovered, forgetRequests } from "./cancel-job.ts";
import type { Queue, QueueConnection } from "./queue.ts";
import { withDeadline } from "./with-deadline.ts";

/**
 * One look at the queue: pg-boss takes claims away from silent workers and prunes what is old enough (at most once an interval,
 * however many providers look), then cancellations of lost attempts are carried out.
 */
export async function superviseOnce(queue: Queue): Promise<void> {
  await queue.boss.supervise(queue.name);
  await cancelRecovered(queue);
  await forgetRequests(queue);
}

/** How long a stop waits for a look under way. */
const stopTimeoutMs = 2000;

/** Looks now and then every interval until it is stopped. Without one running, nobody recovers the jobs of a crashed worker. */
export function startSupervision(
  connection: QueueConnection,
  intervalSeconds: number,
  onLook: () => void,
  onError: (error: unknown) => void,
): { readonly firstLook: Promise<void>; stop(): Promise<void> } {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failing = false;
  const look = async (): Promise<void> => {
    try {
      await superviseOnce(await connection.ready());
      failing = false;
      onLook();
    } catch (error) {
      if (!failing && !stopped) onError(error);
      failing = true;
    }
    // Reckoned from the end of a look: pg-boss refuses one that comes a moment early, and it would be a whole interval late.
    const pauseMs = failing ? Math.min(intervalSeconds * 1_000, 5_000) : intervalSeconds * 1_000;
    if (!stopped) timer = setTimeout(again, pauseMs);
  };
  let current = look();
  const firstLook = current;
  function again(): void {
    current = look();
  }
  return {
    firstLook,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      // A look on a dead link ends when the connections are closed.
      await withDeadline(current, stopTimeoutMs, "the look goes on").catch(() => undefined);
    },
  };
}
