import { type InvocationContext, parseDuration, RuntimeFailureError } from "../capability/index.ts";

/** One call in flight: who made it, and whether anybody still waits for its answer. */
export interface Call {
  /** Key of the calling Instance, or undefined when the host named none. */
  readonly caller: string | undefined;
  /** Why nobody waits any more; undefined while somebody does. */
  readonly over: RuntimeFailureError | undefined;
  /** Calls back once when the caller gives up. Returns how to forget it. Absent where a caller cannot. */
  readonly onOver?: (listener: (reason: RuntimeFailureError) => void) => () => void;
}

/** Reads deadline and cancellation of a host's context. A call with neither costs nothing to watch. */
export function openCall(context: InvocationContext): Call {
  const caller = context.callerInstance;
  if (context.cancelled || context.signal?.aborted) return endedCall(caller, cancelled());
  const left = context.deadline === undefined ? undefined : parseDuration(context.deadline);
  if (context.deadline !== undefined && left === undefined) {
    const detail = `deadline must be an ISO 8601 duration such as PT2.5S`;
    return endedCall(caller, new RuntimeFailureError("protocol_violation", detail));
  }
  if (left !== undefined && left <= 0) return endedCall(caller, deadlineExceeded());
  if (left === undefined && context.signal === undefined) return { caller, over: undefined };
  return new WatchedCall(caller, context.signal, left);
}

class WatchedCall implements Call {
  readonly caller: string | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #endsAt: number;

  constructor(caller: string | undefined, signal: AbortSignal | undefined, left: number | undefined) {
    this.caller = caller;
    this.#signal = signal;
    this.#endsAt = left === undefined ? Number.POSITIVE_INFINITY : performance.now() + left;
  }

  get over(): RuntimeFailureError | undefined {
    if (this.#signal?.aborted) return cancelled();
    return performance.now() >= this.#endsAt ? deadlineExceeded() : undefined;
  }

  onOver(listener: (reason: RuntimeFailureError) => void): () => void {
    // The listener removes itself; to search it among thousands on one signal would stop the process for seconds.
    const onAbort = (): void => {
      clearTimeout(timer);
      listener(cancelled());
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const forget = (): void => {
      clearTimeout(timer);
      this.#signal?.removeEventListener("abort", onAbort);
    };
    const end = (reason: RuntimeFailureError): void => {
      forget();
      listener(reason);
    };
    const arm = (): void => {
      const left = this.#endsAt - performance.now();
      timer = setTimeout(
        left > longestTimerMs ? arm : () => end(deadlineExceeded()),
        Math.max(0, Math.min(left, longestTimerMs)),
      );
    };
    if (this.#endsAt !== Number.POSITIVE_INFINITY) arm();
    this.#signal?.addEventListener("abort", onAbort, { once: true });
    return forget;
  }
}

/** A longer delay overflows the runtime's 32-bit timer and fires at once. */
const longestTimerMs = 2 ** 31 - 1;

const cancelled = (): RuntimeFailureError =>
  new RuntimeFailureError("cancelled", "the caller gave up before the answer");
const deadlineExceeded = (): RuntimeFailureError =>
  new RuntimeFailureError("deadline_exceeded", "the call's deadline passed before the answer");

function endedCall(caller: string | undefined, reason: RuntimeFailureError): Call {
  return { caller, over: reason };
}
