import type { AbortReason } from "./abort-reasons.ts";

/** The signal of one attempt. The first reason stays. */
export class AttemptSignal {
  readonly #controller = new AbortController();
  readonly #native: AbortSignal;

  /** `look` runs before anybody reads whether the signal has aborted, and may abort it then. */
  constructor(look: () => void) {
    const { signal } = this.#controller;
    const looked = (): AbortSignal => {
      if (!isAborted(signal)) look();
      return signal;
    };
    Object.defineProperties(signal, {
      aborted: { get: () => isAborted(looked()), configurable: true },
      reason: { get: () => reasonOf(looked()), configurable: true },
      throwIfAborted: { value: () => throwIfAborted.call(looked()), configurable: true },
    });
    this.#native = signal;
  }

  get signal(): AbortSignal {
    return this.#native;
  }

  /** Why it aborted; undefined while it has not. */
  get reason(): AbortReason | undefined {
    return reasonOf(this.#native) as AbortReason | undefined;
  }

  abort(reason: AbortReason): void {
    if (!isAborted(this.#native)) this.#controller.abort(reason);
  }
}

const { throwIfAborted } = AbortSignal.prototype;
const isAborted = nativeGetter("aborted") as (signal: AbortSignal) => boolean;
const reasonOf = nativeGetter("reason");

function nativeGetter(name: "aborted" | "reason"): (signal: AbortSignal) => unknown {
  const get = Object.getOwnPropertyDescriptor(AbortSignal.prototype, name)?.get;
  return (signal) => get?.call(signal);
}
