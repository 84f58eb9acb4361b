import type { TaskProvider } from "../provider.ts";

/** One queue of the provider that is tested, empty at first. */
export interface ProviderUnderTest {
  /** One more provider of this queue, as another process would have one. The suite closes it. */
  provider(): TaskProvider;
  /**
   * Makes every claim that is held now lapse, as if its worker had been silent for longer than its lease, and resolves once that has
   * been acted on: the job is pending again, or has ended. Later heartbeats of the old worker must come too late.
   */
  expireLeases(): Promise<void>;
  /** Prunes every job that has ended. */
  prune(): Promise<void>;
  /** Calls `work` with a transaction in a form that the provider takes; rolls it back when `work` rejects. */
  inTransaction?(work: (transaction: unknown) => Promise<void>): Promise<void>;
  /** Releases what `open` took. The providers are closed by then. */
  close(): Promise<void>;
}

export interface ProviderConformance {
  /** Stands in front of the names of the tests. */
  readonly name: string;
  /** Longest time of one test, in ms, its `open` included. The suite's own waits end after 12 s. Default 30 000. */
  readonly timeoutMs?: number;
  /** A fresh queue, which no other test knows. */
  open(): Promise<ProviderUnderTest>;
  /**
   * The same, with claims that hold for so long that no pulse is due within the test (half a minute will do). For a provider whose cancel
   * requests reach a running handler without waiting for the next pulse; left out, that is not tested.
   */
  openWithLongLeases?(): Promise<ProviderUnderTest>;
}
