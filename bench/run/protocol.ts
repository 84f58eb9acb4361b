import type { Load, SideOptions } from "../sides/side.ts";

/** What the measuring process asks a side's process for, one JSON text a line. All times are milliseconds of the asked one's `now`. */
export interface Questions {
  /** Once, first. */
  open: { ask: SideOptions & { readonly file: string }; answer: null };
  settings: { ask: { load: Load }; answer: string };
  clock: { ask: null; answer: number };
  enqueue: { ask: { count: number; width: number }; answer: Span };
  bulk: { ask: { count: number; times: number }; answer: Span };
  /** To be followed by `stopWork`. */
  life: { ask: { count: number; width: number }; answer: Span };
  /** Claims and ends one job after another; the duration of each claim. */
  claims: { ask: { count: number }; answer: readonly number[] };
  prepareQueues: { ask: { queues: number }; answer: null };
  enqueueQueues: { ask: { queues: number; width: number }; answer: Span };
  takeQueues: { ask: { queues: number; width: number }; answer: Span };
  /** Starts a worker, which tells `began` and `ended`. */
  startWork: { ask: { load: Load }; answer: null };
  /** Stops it, if there is one. */
  stopWork: { ask: null; answer: null };
  /** Enqueues one job after another with pauses; when each call began. */
  sendMarked: { ask: { first: number; count: number; pauseMs: number }; answer: readonly number[] };
  /** When the handlers of these jobs were entered, and forgets it. */
  entered: { ask: null; answer: readonly (readonly [marker: number, at: number])[] };
  /** Enqueues for a while, beside the worker that was started; how many ended in each second. */
  steady: { ask: { seconds: number; atOnce: number }; answer: readonly number[] };
  usage: { ask: null; answer: Usage };
  close: { ask: null; answer: null };
}

export type Question = keyof Questions;

export interface Span {
  readonly startedAt: number;
  readonly endedAt: number;
}

/** What a process has used since it started. */
export interface Usage {
  readonly cpuMicroseconds: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
}

/** What a side's process says by itself. */
export type Told =
  | { readonly event: "began"; readonly at: number }
  | { readonly event: "ended"; readonly at: number; readonly count: number };

export type Answer = { readonly id: number } & ({ readonly value: unknown } | { readonly failure: string });
