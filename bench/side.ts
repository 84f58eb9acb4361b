/** One queue under measurement. Every method does real, durable work on the shared server. */
export interface Side {
  readonly name: string;
  /** One job of about 100 bytes, its commit awaited. */
  enqueue(): Promise<void>;
  /** `count` jobs at once, by whatever the queue offers for it. */
  bulk(count: number, side: Side): Promise<void>;
  /** Claims and completes one job; false when there is none. */
  workOne(): Promise<boolean>;
  /** Claims and completes everything with that much in flight; answers how many. */
  drain(concurrency: number): Promise<number>;
  stop(): Promise<void>;
}
