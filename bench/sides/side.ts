/**
 * One queue under measurement, in a process of its own. Every method does real, durable work on the shared server. Files of peers run
 * under Node as well: they import types only, and no Bun.
 */
export interface Side {
  /** What deviates from the library's defaults under this load, as printed beside the figures. */
  settings(load: Load): string;
  /** One job of about 100 bytes, its commit awaited. `marker` comes back when the job's handler is entered. */
  enqueue(marker: number): Promise<void>;
  /** `count` jobs at once, by whatever the queue offers for it, all commits awaited. */
  bulk(count: number): Promise<void>;
  /** The same with a queue of its own for each job. Where that is possible. */
  readonly manyQueues?: {
    prepare(queues: number): Promise<void>;
    enqueue(queue: number): Promise<void>;
    take(queue: number): Promise<void>;
  };
  /** Takes jobs and ends them, with handlers that do nothing, until the returned function is called, which drains. */
  work(load: Load, seen: Seen): Promise<() => Promise<void>>;
  /** Claims one job, without waiting. Answers how to end it, or undefined when there was none. Where a job can be taken by hand. */
  claim?(): Promise<(() => Promise<void>) | undefined>;
  /** True: a lane does best when it asks for its next job together with the end of the last. Default: one after the other. */
  readonly claimsWhileEnding?: boolean;
  close(): Promise<void>;
}

/**
 * How a side is to be set up for working: as its defaults are, with 500 jobs in a batch, with the documented settings that drained
 * fastest here, one handler at a time with its fastest wake-up.
 */
export type Load = "default" | "batch" | "best" | "prompt";

/** What a working side tells. */
export interface Seen {
  /** A handler was entered with the job of this marker. */
  entered(marker: number): void;
  /** That many more jobs have ended, as far as the side can tell. */
  ended(count: number): void;
}

/** How a side is opened. */
export interface SideOptions {
  /** Secret. */
  readonly databaseUrl: string;
  /** The schema that is this side's alone. */
  readonly schema: string;
  /** What else the side's file knows, as the catalogue says. */
  readonly variant: string;
  /** The first process of a side makes its tables. */
  readonly first: boolean;
  /** Only with the many-queues scenario. */
  readonly queues: number;
}

/** Opens a side. */
export type OpenSide = (options: SideOptions) => Promise<Side>;

/** The one queue of all other scenarios. */
export const queueName = "bench";

/** The payload: 100 bytes of JSON with its marker, give or take the marker's digits. */
export function payloadOf(marker: number): { text: string; marker: number } {
  return { text: filling, marker };
}

const filling = "x".repeat(78);
