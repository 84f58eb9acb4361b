import type { JobProjectionEvent } from "../lifecycle/job-events.ts";
import { isTerminalJobState } from "../lifecycle/job-lifecycle.ts";
import type { HostParts } from "./host-parts.ts";
import { isAnswerLost } from "./is-answer-lost.ts";
import { JobHostError } from "./job-host-error.ts";
import { readWatchOptions } from "./read-requests.ts";
import { readEvents } from "./records/read-events.ts";

/** Where a watch begins, and what ends it. */
export interface JobWatchOptions {
  /** The revision that the caller has seen last: the first event is the one after it. Default 0: from the acceptance on. */
  readonly after?: number;
  /** Ends the watch: `next` rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** What a watch is made for. */
export interface WatchedJob {
  /** Undefined when the reference cannot be one of a job of this host. */
  readonly id: string | undefined;
  readonly options: JobWatchOptions;
  /** Runs a call on the host's records; a host that closes refuses and awaits them. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
  /** The watches under way, of which this one is one from its first look until its end. */
  readonly watches: Set<JobWatch>;
}

/** As many events as are read, and held, at a time. */
const pageSize = 100;

/** Why a watch ended that has told everything, or that nobody wants any more. */
const isDone: unique symbol = Symbol("done");

/**
 * The events of one job in order, each once, as they are recorded; it ends after the terminal one. It holds a page of events at most, however
 * many there are, and reads the next when it is asked for. An outage of the database is waited out.
 */
export class JobWatch implements AsyncIterableIterator<JobProjectionEvent, undefined> {
  readonly #host: HostParts;
  readonly #watched: WatchedJob;
  readonly #signal: AbortSignal | undefined;
  readonly #ending = new AbortController();
  #after: number;
  #page: JobProjectionEvent[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #unwatch: (() => void) | undefined;
  /** There may be events that were recorded after the last look. */
  #mayHaveMore = true;
  #wake: () => void = () => undefined;

  /** @throws TypeError for options that are none */
  constructor(host: HostParts, watched: WatchedJob) {
    const { after, signal } = readWatchOptions(watched.options);
    this.#host = host;
    this.#watched = watched;
    this.#after = after;
    this.#signal = signal;
    if (watched.id === undefined) this.#end(new JobHostError("job-not-found"));
    else if (signal?.aborted) this.#end(signal.reason);
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next event. Calls wait for each other. @throws JobHostError, `job-not-found` among others; the signal's reason */
  next(): Promise<IteratorResult<JobProjectionEvent, undefined>> {
    const next = this.#turn.then(() => this.#next());
    this.#turn = next.catch(() => undefined);
    return next;
  }

  /** Ends the watch, also while `next` waits: that one is done then. */
  async return(): Promise<IteratorResult<JobProjectionEvent, undefined>> {
    this.#end(isDone);
    return { done: true, value: undefined };
  }

  /** Ends it because the host closes. */
  close(): void {
    this.#end(new JobHostError("closed"));
  }

  async #next(): Promise<IteratorResult<JobProjectionEvent, undefined>> {
    try {
      const event = await this.#nextEvent();
      if (event === undefined) return { done: true, value: undefined };
      this.#after = event.revision;
      if (event.type === "job-lifecycle-changed" && isTerminalJobState(event.state)) this.#end(isDone);
      return { done: false, value: event };
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  /** Undefined once there will be none, or nobody wants any. */
  async #nextEvent(): Promise<JobProjectionEvent | undefined> {
    for (;;) {
      if (this.#ending.signal.aborted) {
        if (this.#ending.signal.reason === isDone) return undefined;
        throw this.#ending.signal.reason;
      }
      const held = this.#page.shift();
      if (held !== undefined) return held;
      this.#listen();
      if (this.#mayHaveMore) await this.#readPage();
      else await this.#awaitMore();
    }
  }

  async #readPage(): Promise<void> {
    this.#mayHaveMore = false;
    const { records, trouble } = this.#host;
    const { id = "", run } = this.#watched;
    try {
      const page = await run(() => readEvents(records, id, { after: this.#after, limit: pageSize }));
      trouble.ends("watch");
      if (page === undefined) throw new JobHostError("job-not-found");
      if (this.#ending.signal.aborted) return;
      this.#page = [...page.events];
      this.#mayHaveMore ||= page.events.length === pageSize;
      if (page.isOver && page.events.length === 0) this.#end(isDone); // it ended before `after`
    } catch (error) {
      const cause = error instanceof JobHostError ? error.cause : error;
      if (!isAnswerLost(cause)) throw error;
      trouble.begins("watch", cause);
    }
  }

  /** Until there may be more, at the latest after the polling interval, or the end. */
  async #awaitMore(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#host.pollIntervalMs);
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
    this.#mayHaveMore = true;
  }

  #listen(): void {
    if (this.#unwatch !== undefined) return;
    this.#watched.watches.add(this);
    this.#unwatch = this.#host.watch((id) => {
      if (id !== undefined && id !== this.#watched.id) return;
      this.#mayHaveMore = true;
      this.#wake();
    });
  }

  readonly #abort = (): void => this.#end(this.#signal?.reason);

  #end(reason: unknown): void {
    this.#ending.abort(reason);
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#unwatch?.();
    this.#watched.watches.delete(this);
    this.#page = [];
    this.#wake();
  }
}
