import type { RuntimeFailureError } from "../../capability/index.ts";
import type { Call } from "../call.ts";

/** One call that waits for its share of a statement. It ends once: by an answer, by a failure, or because its caller left. */
export class Pending<In, Out> {
  readonly input: In;
  readonly bytes: number;
  /** Called once when the caller leaves. */
  onLeave: ((pending: this) => void) | undefined;
  readonly promise: Promise<Out>;
  #open = true;
  #resolve!: (value: Out) => void;
  #reject!: (reason: unknown) => void;
  readonly #forget: (() => void) | undefined;

  constructor(input: In, bytes: number, call: Call) {
    this.input = input;
    this.bytes = bytes;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#forget = call.onOver?.((reason: RuntimeFailureError) => {
      this.#open = false;
      this.onLeave?.(this);
      this.#reject(reason);
    });
  }

  /** False once nobody waits any more. */
  get open(): boolean {
    return this.#open;
  }

  /** Hands the answer over; false when the caller had left, and then nobody has it. */
  answer(value: Out): boolean {
    if (!this.#open) return false;
    this.#close();
    this.#resolve(value);
    return true;
  }

  fail(reason: unknown): void {
    if (!this.#open) return;
    this.#close();
    this.#reject(reason);
  }

  #close(): void {
    this.#open = false;
    this.#forget?.();
  }
}
