import type { RuntimeFailureError } from "../../../capability/index.ts";
import type { Call } from "../../call.ts";
import type { Database } from "../database.ts";
import type { Subscription } from "../drivers/driver.ts";
import { beginning } from "../low-water.ts";
import { nameHash } from "../name-hash.ts";
import type { LookForWork } from "../queries/look-for-work.ts";
import { prolongEveryMs, type RegisterWaiter } from "../queries/register-waiter.ts";
import type { QueueWater } from "../queue-waters.ts";
import { withinTime } from "../within-time.ts";
import type { SignalSource } from "./signal-source.ts";

export interface SignalHubOptions {
  readonly channel: string;
  /** Names this process in its registrations. */
  readonly listener: string;
  /** How often a queue that somebody waits for is looked at, in ms, once the first second is over. */
  readonly pollIntervalMs: number;
  /** False where LISTEN cannot work, as behind a transaction pooler: then looking is all there is. */
  readonly listen: boolean;
  /** How long the notification that a registration sends to itself may take before the connection counts as deaf, in ms. Default 10 000. */
  readonly echoMs?: number;
  /** Told once, when a connection that listens has heard nothing, not even what was sent to it as a test. */
  onDeaf(): void;
  readonly look: LookForWork;
  readonly register: RegisterWaiter;
  waterOf(queueHash: string): QueueWater;
}

/** A look every so often right after the registration: an enqueue that began before it does not know of it. */
const firstSecondMs = 1000;
const eagerLookMs = 100;
/** A look from the very beginning of a queue, past the low-water hint, comes at least this often. */
const fullLookMs = 5000;
/** How long LISTEN may take before looking goes on without it; it goes on meanwhile. */
const listenMs = 5000;
/** How long a close waits for the end of the listening connection. */
const closeMs = 1000;
const defaultEchoMs = 10_000;

interface Waiter {
  readonly queues: ReadonlyMap<string, string>;
  readonly since: number;
  end(queue: string | null): void;
}

/**
 * Wakes the waiting workers of this process: at once for what happens in it, by NOTIFY for what happens elsewhere, and by
 * looking, which alone must suffice. All waiters share one registration, one listening connection and one look at a time.
 */
export class SignalHub implements SignalSource {
  readonly #db: Database;
  readonly #options: SignalHubOptions;
  readonly #waiters = new Set<Waiter>();
  readonly #registeredUntil = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #fullLookAt = 0;
  #nextDueAt = Number.POSITIVE_INFINITY;
  #subscription: Promise<Subscription | undefined> | undefined;
  #echoDueAt = Number.POSITIVE_INFINITY;
  #echoed = false;
  /** Whether the listening connection has ever brought anything. */
  #heard = false;
  #toldDeaf = false;
  #closed = false;

  constructor(db: Database, options: SignalHubOptions) {
    this.#db = db;
    this.#options = options;
  }

  wait(queues: readonly string[], timeoutMs: number, call: Call): Promise<string | null> {
    if (call.over) return Promise.reject(call.over);
    if (this.#closed) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => waiter.end(null), timeoutMs);
      const leave = (): void => {
        clearTimeout(timer);
        forget?.();
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#stopTimer();
      };
      const waiter: Waiter = {
        queues: new Map(queues.map((queue) => [nameHash(queue), queue])),
        since: performance.now(),
        end: (queue) => {
          leave();
          resolve(queue);
        },
      };
      const forget = call.onOver?.((reason: RuntimeFailureError) => {
        leave();
        reject(reason);
      });
      this.#waiters.add(waiter);
      this.#lookNow();
    });
  }

  /** A job of this queue may be claimable now. Costs nothing when nobody waits. */
  wake(queueHash: string): void {
    for (const waiter of this.#waiters) {
      const queue = waiter.queues.get(queueHash);
      if (queue !== undefined) waiter.end(queue);
    }
  }

  /** The schedule of this queue changed: a look may find an earlier due time. */
  rescheduled(): void {
    if (this.#waiters.size > 0) this.#lookNow();
  }

  /** Every wait answers null; nothing is left running. Safe twice. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopTimer();
    for (const waiter of this.#waiters) waiter.end(null);
    await this.#looking;
    // Closing the connections ends one that has not been answered.
    await withinTime(closeMs, this.#unlisten());
  }

  #lookNow(): void {
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#look()
      // A database that is away is told to the worker by its claims; here the next look tries again.
      .catch(() => undefined)
      .finally(() => {
        this.#looking = undefined;
        if (this.#closed || this.#waiters.size === 0) return;
        if (this.#lookAgain) this.#lookNow();
        else this.#schedule();
      });
  }

  async #look(): Promise<void> {
    this.#lookAgain = false;
    this.#stopTimer();
    const queues = new Set([...this.#waiters].flatMap((waiter) => [...waiter.queues.keys()]));
    await this.#registerAll([...queues]).catch(() => undefined); // a notification only makes it sooner: looking alone must suffice
    const full = performance.now() >= this.#fullLookAt;
    if (full) this.#fullLookAt = performance.now() + fullLookMs;
    const outlooks = await this.#options.look(
      this.#db,
      [...queues].map((queueHash) => ({
        queueHash,
        from: full ? beginning : this.#options.waterOf(queueHash).ready.start().from,
      })),
    );
    this.#nextDueAt = Number.POSITIVE_INFINITY;
    for (const { queueHash, due, dueInMs } of outlooks) {
      if (due) this.wake(queueHash);
      else if (dueInMs !== undefined) {
        this.#nextDueAt = Math.min(this.#nextDueAt, performance.now() + Math.max(1, dueInMs));
      }
    }
  }

  async #registerAll(queues: readonly string[]): Promise<void> {
    if (!this.#options.listen) return;
    const now = performance.now();
    if (now > this.#echoDueAt) await this.#replaceDeaf();
    const due = queues.filter((queue) => now >= (this.#registeredUntil.get(queue) ?? 0));
    if (due.length === 0) return;
    this.#subscription ??= this.#listen();
    let isSettled = false;
    const settled = this.#subscription.then(() => {
      isSettled = true;
    });
    await withinTime(listenMs, settled);
    if (!isSettled || this.#closed) return; // a link that died: looking must not wait for it
    this.#echoed = false;
    await this.#options.register(this.#db, due, this.#options.listener);
    // The notification may have overtaken the statement's own answer.
    if (!this.#echoed)
      this.#echoDueAt = Math.min(
        this.#echoDueAt,
        performance.now() + (this.#options.echoMs ?? defaultEchoMs),
      );
    for (const queue of due) this.#registeredUntil.set(queue, now + prolongEveryMs);
  }

  async #listen(): Promise<Subscription | undefined> {
    let first = true;
    this.#heard = false;
    try {
      return await this.#db.listen(
        this.#options.channel,
        (payload) => {
          this.#heard = true;
          if (payload !== this.#options.listener) return this.wake(payload);
          this.#echoed = true;
          this.#echoDueAt = Number.POSITIVE_INFINITY;
        },
        () => {
          if (first) {
            first = false;
            return;
          }
          // After a connection was lost, what it would have said is unknown: everybody looks for himself.
          for (const waiter of this.#waiters) {
            for (const queueHash of waiter.queues.keys()) this.wake(queueHash);
          }
        },
      );
    } catch {
      this.#subscription = undefined;
      return undefined;
    }
  }

  /** A link that died is replaced and nobody needs to know; one that never worked will most likely not, and looking is all there is. */
  async #replaceDeaf(): Promise<void> {
    // After the event loop was blocked the answer may be here already, unread.
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (performance.now() <= this.#echoDueAt) return;
    const neverHeard = !this.#heard;
    await this.#unlisten();
    this.#registeredUntil.clear();
    if (!neverHeard || this.#toldDeaf) return;
    this.#toldDeaf = true;
    this.#options.onDeaf();
  }

  async #unlisten(): Promise<void> {
    const subscription = await this.#subscription;
    this.#subscription = undefined;
    this.#echoDueAt = Number.POSITIVE_INFINITY;
    await subscription?.close();
  }

  #schedule(): void {
    const now = performance.now();
    const youngest = Math.max(...[...this.#waiters].map((waiter) => waiter.since));
    const every = now - youngest < firstSecondMs ? eagerLookMs : this.#options.pollIntervalMs;
    const at = Math.min(now + every, this.#nextDueAt);
    this.#timer = setTimeout(() => this.#lookNow(), Math.max(1, at - now));
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
