import { toRuntimeFailure } from "./database-failure.ts";
import { Slots } from "./slots.ts";

/** A call as a wait sees it. */
export interface WaitingCall {
  /** False once nobody waits for its answer any more. */
  readonly open: boolean;
  fail(reason: unknown): void;
}

type Wait<Call> = (calls: readonly Call[]) => Promise<void>;

interface Group<Call> {
  readonly asked: string;
  readonly calls: Call[];
  readonly wait: Wait<Call>;
}

/**
 * Statements that may wait for a row that somebody holds, outside of any batch. A row takes one place, however often and for
 * whatever its callers ask: what asks for the same joins, what asks for something else follows. A bounded number of rows are waited
 * for at once, in order of arrival, and a wait that nobody wants any more is not begun.
 */
export class SharedWaits<Call extends WaitingCall> {
  readonly #slots: Slots;
  readonly #rows = new Map<string, Group<Call>[]>();
  readonly #underWay = new Set<Promise<void>>();

  /** `connections`: how many may wait at once without one queueing behind another on its connection. */
  constructor(connections: number) {
    this.#slots = new Slots(connections);
  }

  /** `wait` answers, when it ends, all calls that its argument holds by then. What it throws fails them. */
  join(row: string, asked: string, calls: readonly Call[], wait: Wait<Call>): void {
    const groups = this.#rows.get(row);
    const same = groups?.find((group) => group.asked === asked);
    if (same) {
      same.calls.push(...calls);
      return;
    }
    const group = { asked, calls: [...calls], wait };
    if (groups) {
      groups.push(group);
      return;
    }
    this.#rows.set(row, [group]);
    const done = this.#run(row);
    this.#underWay.add(done);
    void done.then(() => this.#underWay.delete(done));
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async #run(row: string): Promise<void> {
    await new Promise<void>((resolve) => this.#slots.take(resolve));
    const groups = this.#rows.get(row) ?? [];
    for (let group = groups[0]; group !== undefined; group = groups[0]) {
      await settleGroup(group);
      // Who joined between the answer and here has none yet, and is served by another round.
      if (!group.calls.some((call) => call.open)) groups.shift();
    }
    this.#rows.delete(row);
    this.#slots.release();
  }
}

async function settleGroup<Call extends WaitingCall>({ calls, wait }: Group<Call>): Promise<void> {
  if (!calls.some((call) => call.open)) return;
  try {
    await wait(calls);
  } catch (error) {
    const failure = toRuntimeFailure(error);
    for (const call of calls) call.fail(failure);
  }
}
