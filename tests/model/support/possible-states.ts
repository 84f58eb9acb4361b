import type { Outcome, QueueCall } from "./queue-call.ts";
import type { QueueModel } from "./queue-model.ts";

/** A call and what is known of it. */
export interface Observed {
  readonly call: QueueCall;
  readonly outcome: Outcome;
}

/**
 * All states in which a queue may be after what was observed. Calls that were under way together may have been carried out in
 * any order, and one whose connection was lost may or may not have been; what is observed later rules states out. When none is
 * left, the system did what the model can't.
 */
export class PossibleStates {
  #states: readonly QueueModel[];

  constructor(first: QueueModel) {
    this.#states = [first];
  }

  /** Calls that were under way together. @throws Error that tells what was expected, when no state explains their outcomes. */
  async observe(together: readonly Observed[]): Promise<void> {
    const before = this.#states;
    if (await this.#goOn(together)) return;
    const after = new Map<string, QueueModel>();
    const found: QueueModel[] = [];
    // What was turned away changed nothing.
    const calls = together.filter(({ outcome }) => outcome !== "never").map(identified);
    for (const state of before) found.push(...(await statesAfter(state, calls)));
    for (const state of found) after.set(found.length === 1 ? "" : state.fingerprint, state);
    if (after.size === 0) throw new Error(await contradiction(before, together));
    if (after.size > maxStates)
      throw new Error(`more than ${maxStates} states are possible: the plan is too wild`);
    this.#states = [...after.values()];
  }

  /** Nearly always one call was made in one state and can have gone one way: then the state itself goes on, uncopied. */
  async #goOn(together: readonly Observed[]): Promise<boolean> {
    const [state] = this.#states;
    const [only] = together;
    if (state === undefined || only === undefined) return only === undefined;
    const { call, outcome } = only;
    if (this.#states.length > 1 || together.length > 1 || outcome === "unknown" || outcome === "never")
      return false;
    const [way, ...others] = waysOf(state, call);
    if (way === undefined || way.reaped || others.length > 0) return false;
    const answer = await state.perform(call);
    if (outcome === "unheard") return true;
    if (state.agrees(outcome.answer, answer)) {
      state.learn(outcome.answer, answer);
      return true;
    }
    throw new Error(explain(together, [answer.told], 1));
  }

  some(condition: (state: QueueModel) => boolean): boolean {
    return this.#states.some(condition);
  }

  /** What happened to the whole queue while no call was under way. */
  change(change: (state: QueueModel) => void): void {
    for (const state of this.#states) change(state);
  }
}

const maxStates = 5000;

interface Identified extends Observed {
  /** Equal for calls that ask for the same. */
  readonly asks: string;
  /** Equal for calls that are the same in all that is known. */
  readonly is: string;
}

function identified({ call, outcome }: Observed): Identified {
  const asks = JSON.stringify(call);
  return { call, outcome, asks, is: `${asks} ${JSON.stringify(outcome)}` };
}

/**
 * By every order of the calls that explains their outcomes. The state itself is left alone, unless nobody else needs it:
 * `ours`. Calls that ask for the same differ in their outcomes alone, so the model carries out one for all of them.
 */
async function statesAfter(
  state: QueueModel,
  left: readonly Identified[],
  ours?: "ours",
): Promise<QueueModel[]> {
  if (left.length === 0) return [state];
  const found: QueueModel[] = [];
  const groups = Map.groupBy(left, ({ asks }) => asks);
  for (const group of groups.values()) {
    // Which of two calls that are the same in all that is known came first makes no difference.
    const candidates = [...new Map(group.map((each) => [each.is, each])).values()];
    const [{ call }] = candidates as [Identified];
    const ways = waysOf(state, call);
    const cutOff = candidates.find(({ outcome }) => outcome === "unknown");
    const onlyWay = groups.size === 1 && ways.length === 1 && cutOff === undefined;
    for (const { reaped, take } of ways) {
      const next = ours && onlyWay ? state : state.clone();
      if (reaped) next.reap();
      const answer = await next.perform(call, take === "ready only");
      const first = candidates.filter(
        ({ outcome }) => typeof outcome === "string" || next.agrees(outcome.answer, answer),
      );
      for (const [index, observed] of first.entries()) {
        const after = index === first.length - 1 ? next : next.clone();
        if (typeof observed.outcome !== "string") after.learn(observed.outcome.answer, answer);
        found.push(...(await statesAfter(after, without(left, observed), "ours")));
      }
    }
    if (cutOff === undefined) continue;
    const others = without(left, cutOff);
    found.push(...(await statesAfter(state, others)));
    if (!ways.some(({ reaped }) => reaped)) continue;
    // It may have taken expired leases back and got no further.
    const reaped = state.clone();
    reaped.reap();
    found.push(...(await statesAfter(reaped, others, "ours")));
  }
  return found;
}

function without(calls: readonly Identified[], one: Identified): readonly Identified[] {
  return calls.toSpliced(calls.indexOf(one), 1);
}

interface Way {
  readonly reaped: boolean;
  readonly take: "ready only" | "all";
}

/** A claim looks at expired leases when it finds too little that is ready, and now and then in any case. */
function waysOf(state: QueueModel, call: QueueCall): readonly Way[] {
  if (call.verb !== "claim" || !state.hasExpired) return [{ reaped: false, take: "all" }];
  const reaping: Way = { reaped: true, take: "all" };
  return state.hasDue ? [reaping, { reaped: false, take: "ready only" }] : [reaping];
}

async function contradiction(states: readonly QueueModel[], together: readonly Observed[]): Promise<string> {
  const expected: unknown[] = [];
  for (const state of states.slice(0, 3)) {
    for (const { call } of together) expected.push((await state.clone().perform(call)).told);
  }
  return explain(together, expected, states.length);
}

function explain(together: readonly Observed[], expected: readonly unknown[], states: number): string {
  return [
    "no state of the model explains",
    ...together.map(
      ({ call, outcome }) => `  ${JSON.stringify(shown(call))} → ${JSON.stringify(shown(outcome))}`,
    ),
    `one by one the model, in ${states} possible states, would have answered`,
    ...expected.map((answer) => `  ${JSON.stringify(shown(answer))}`),
  ].join("\n");
}

/** Without tokens: what is printed must not look like a leak. */
function shown(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, each: unknown) =>
    key === "lease_token" ? undefined : each,
  );
}
