import { RuntimeFailureError } from "../../capability/index.ts";
import { Slots } from "./slots.ts";

/** Statements that may wait for a row that somebody holds, outside of any batch: a bounded number at once, in order of arrival. */
export class RowWaits {
  readonly #slots: Slots;
  readonly #underWay = new Set<Promise<void>>();

  /** `connections`: how many may wait at once without one queueing behind another on its connection. */
  constructor(connections: number) {
    this.#slots = new Slots(connections);
  }

  start(work: () => Promise<void>, onError: (error: unknown) => void): void {
    if (this.#underWay.size >= maxRowWaits) {
      onError(new RuntimeFailureError("resource_exhausted", "too many calls are waiting for locked rows"));
      return;
    }
    const done = this.#run(work).catch(onError);
    this.#underWay.add(done);
    void done.then(() => this.#underWay.delete(done));
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async #run(work: () => Promise<void>): Promise<void> {
    await new Promise<void>((resolve) => this.#slots.take(resolve));
    try {
      await work();
    } finally {
      this.#slots.release();
    }
  }
}

const maxRowWaits = 10_000;
