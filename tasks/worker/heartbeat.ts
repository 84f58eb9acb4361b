import { backoffMs } from "./backoff.ts";
import type { WorkerTime } from "./time.ts";

/** The pulses of one attempt, one after the other. */
export interface Heartbeat {
  /** How long the next pulse has been overdue, in ms: more than a little means that the event loop was blocked. */
  readonly overdueMs: number;
  /** Pulses now, or again once the pulse in flight has ended: what is asked about may have come after it was answered. */
  beatNow(): void;
  /** Sends no further pulse and resolves when the one in flight has ended. */
  stop(): Promise<void>;
}

/**
 * Calls `pulse` about every `everyMs` until it answers false or the heartbeat is stopped. A pulse that rejects is sent again sooner.
 */
export function startHeartbeat(
  time: WorkerTime,
  everyMs: () => number,
  pulse: () => Promise<boolean>,
): Heartbeat {
  let failures = 0;
  let inFlight: Promise<void> | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let callOff = (): void => {};
  let stopped = false;
  let isBeating = false;
  let beatAgain = false;

  const schedule = (): void => {
    if (stopped) return;
    // A little early by chance, so that claims of one batch don't pulse in step for ever.
    const every = everyMs() * (0.9 + Math.random() / 10);
    const inMs = failures === 0 ? every : backoffMs(failures, { capMs: every });
    dueAt = time.now() + inMs;
    callOff = time.after(inMs, () => {
      inFlight = beat();
    });
  };
  const beat = async (): Promise<void> => {
    dueAt = Number.POSITIVE_INFINITY;
    isBeating = true;
    try {
      let goOn = true;
      do {
        beatAgain = false;
        goOn = await pulse();
        failures = 0;
      } while (goOn && beatAgain && !stopped);
      if (goOn) schedule();
      else stopped = true;
    } catch {
      failures += 1; // told by whoever made the pulse
      schedule();
    } finally {
      isBeating = false;
    }
  };
  schedule();
  return {
    get overdueMs() {
      return Math.max(0, time.now() - dueAt);
    },
    beatNow() {
      beatAgain = true;
      if (stopped || isBeating) return;
      callOff();
      inFlight = beat();
    },
    async stop() {
      stopped = true;
      callOff();
      await inFlight;
    },
  };
}
