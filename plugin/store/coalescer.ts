import { RuntimeFailureError } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import { toRuntimeFailure } from "./database-failure.ts";
import type { EndOfTurn } from "./end-of-turn.ts";
import { Pending } from "./pending.ts";
import type { Slots } from "./slots.ts";

/** Bounds of one kind of call. */
export interface CoalescerOptions<In, Out> {
  /** What the calls are, for messages. */
  readonly name: string;
  /** Batches of this kind under way at once, carried ones included. More than a few only makes batches smaller. */
  readonly inFlight: number;
  /** Calls that are made in one turn travel together; of rank 1 before those of rank 2. */
  readonly turn: EndOfTurn;
  readonly rank: 1 | 2;
  /** Shared places of several coalescers, taken in turn. */
  readonly slots?: Slots;
  /** Sees to it that every call of the batch is answered or failed, at once or later. What it throws fails those still open. */
  run(batch: readonly Pending<In, Out>[]): Promise<void>;
}

/**
 * So many that a commit costs little a call, and so few that a thousand callers are several batches: while the database works on one,
 * this process hands out the answers of another.
 */
const maxBatchCalls = 256;
const maxBatchBytes = 8 * 1024 * 1024;
/** Calls and bytes that may wait before callers are told `resource_exhausted`. */
export const maxWaitingCalls = 100_000;
const maxWaitingBytes = 512 * 1024 * 1024;

/**
 * Lets concurrent calls of one kind share a statement and a commit, without a timer: what arrives while statements are under
 * way forms the next one. A single caller pays nothing for it. First come, first served; a caller that leaves before its
 * call is sent is dropped, one that leaves later never disturbs its neighbours.
 */
export class Coalescer<In, Out> {
  readonly #options: CoalescerOptions<In, Out>;
  #queue: Pending<In, Out>[] = [];
  #head = 0;
  #waitingCalls = 0;
  #waitingBytes = 0;
  #running = 0;
  #carried = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(options: CoalescerOptions<In, Out>) {
    this.#options = options;
  }

  /** Joins the next statement. `bytes` is the size of what will be sent. */
  submit(input: In, bytes: number, call: Call): Promise<Out> {
    if (call.over) return Promise.reject(call.over);
    if (this.#waitingCalls >= maxWaitingCalls || this.#waitingBytes + bytes > maxWaitingBytes) {
      const detail = `too many ${this.#options.name} calls are waiting for the database`;
      return Promise.reject(new RuntimeFailureError("resource_exhausted", detail));
    }
    const pending = new Pending<In, Out>(input, bytes, call);
    pending.onLeave = this.#left;
    this.#queue.push(pending);
    this.#waitingCalls += 1;
    this.#waitingBytes += bytes;
    this.#schedule();
    return pending.promise;
  }

  /** Runs what waits by the statement of somebody else, within the same bound: calls that are held up must not hold up claim after claim. */
  carry(run: CoalescerOptions<In, Out>["run"]): void {
    if (this.#isFull) return;
    const batch = this.#take();
    if (batch.length === 0) return;
    this.#carried += 1;
    void this.#answerAll(batch, run).finally(() => {
      this.#carried -= 1;
      this.#goOn();
    });
  }

  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void> {
    return this.#isIdle ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#isFull) return;
    this.#scheduled = true;
    const { turn, rank, slots } = this.#options;
    const start = (): void => this.#start();
    // A place that comes free in the middle of a turn waits for the turn's other calls too.
    turn.run(rank, slots ? () => slots.take(() => turn.run(rank, start)) : start);
  }

  #start(): void {
    this.#scheduled = false;
    const batch = this.#isFull ? [] : this.#take(); // some may have been carried since
    if (batch.length === 0) {
      this.#options.slots?.release();
      this.#settleIdle();
      return;
    }
    this.#running += 1;
    if (this.#head < this.#queue.length) this.#schedule();
    void this.#run(batch);
  }

  async #run(batch: readonly Pending<In, Out>[]): Promise<void> {
    await this.#answerAll(batch, this.#options.run);
    this.#running -= 1;
    this.#options.slots?.release();
    this.#goOn();
  }

  #goOn(): void {
    if (this.#head < this.#queue.length) this.#schedule();
    else this.#settleIdle();
  }

  async #answerAll(batch: readonly Pending<In, Out>[], run: CoalescerOptions<In, Out>["run"]): Promise<void> {
    try {
      await run(batch);
    } catch (error) {
      const failure = toRuntimeFailure(error);
      for (const pending of batch) pending.fail(failure);
    }
  }

  #take(): Pending<In, Out>[] {
    const batch: Pending<In, Out>[] = [];
    let bytes = 0;
    while (this.#head < this.#queue.length && batch.length < maxBatchCalls) {
      const next = this.#queue[this.#head] as Pending<In, Out>;
      if (batch.length > 0 && bytes + next.bytes > maxBatchBytes) break;
      this.#head += 1;
      if (!next.open) continue;
      this.#noLongerWaits(next);
      batch.push(next);
      bytes += next.bytes;
    }
    if (this.#head === this.#queue.length || this.#head > 4096) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    return batch;
  }

  /** A caller left before its call was sent. What such calls hold is let go of once they are the greater part. */
  readonly #left = (pending: Pending<In, Out>): void => {
    this.#noLongerWaits(pending);
    const queued = this.#queue.length - this.#head;
    if (queued > 1024 && this.#waitingCalls * 2 < queued) {
      this.#queue = this.#queue.slice(this.#head).filter((call) => call.open && call !== pending);
      this.#head = 0;
    }
  };

  #noLongerWaits(pending: Pending<In, Out>): void {
    pending.onLeave = undefined;
    this.#waitingCalls -= 1;
    this.#waitingBytes -= pending.bytes;
  }

  get #isFull(): boolean {
    return this.#running + this.#carried >= this.#options.inFlight;
  }

  get #isIdle(): boolean {
    return (
      this.#running === 0 && this.#carried === 0 && !this.#scheduled && this.#head === this.#queue.length
    );
  }

  #settleIdle(): void {
    if (!this.#isIdle) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
