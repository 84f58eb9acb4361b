import { toRuntimeFailure } from "./database-failure.ts";
import { Slots } from "./slots.ts";

/** A call as a wait sees it. */
export interface WaitingCall {
  /** False once nobody waits for its answer any more. */
  readonly open: boolean;
  fail(reason: unknown): void;
}

/**
 * Statements that may wait for a row that somebody holds, outside of any batch. One row is waited for once, however often its
 * caller asks again: what asks for the same meanwhile joins. A bounded number wait at once, in order of arrival, and one that nobody
 * wants any more is not begun.
 */
export class SharedWaits<Call extends WaitingCall> {
  readonly #slots: Slots;
  readonly #waits = new Map<string, Call[]>();
  readonly #underWay = new Set<Promise<void>>();

  /** `connections`: how many may wait at once without one queueing behind another on its connection. */
  constructor(connections: number) {
    this.#slots = new Slots(connections);
  }

  /** `wait` answers, when it ends, all calls that its argument holds by then. What it throws fails them. */
  join(key: string, calls: readonly Call[], wait: (calls: readonly Call[]) => Promise<void>): void {
    const joined = this.#waits.get(key);
    if (joined) {
      joined.push(...calls);
      return;
    }
    const group = [...calls];
    this.#waits.set(key, group);
    const done = this.#run(key, group, wait);
    this.#underWay.add(done);
    void done.then(() => this.#underWay.delete(done));
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async #run(key: string, group: Call[], wait: (calls: readonly Call[]) => Promise<void>): Promise<void> {
    await new Promise<void>((resolve) => this.#slots.take(resolve));
    try {
      if (group.some((call) => call.open)) await wait(group);
    } catch (error) {
      const failure = toRuntimeFailure(error);
      for (const call of group) call.fail(failure);
    } finally {
      this.#slots.release();
      this.#waits.delete(key);
    }
    // Who joined between the answer and here has none yet.
    const late = group.filter((call) => call.open);
    if (late.length > 0) this.join(key, late, wait);
  }
}
