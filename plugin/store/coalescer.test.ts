import { expect, test } from "bun:test";
import { RuntimeFailureError } from "../../capability/index.ts";
import { type Call, openCall } from "../call.ts";
import { Coalescer, maxWaitingCalls } from "./coalescer.ts";
import { EndOfTurn } from "./end-of-turn.ts";
import type { Pending } from "./pending.ts";
import { Slots } from "./slots.ts";

const turn = new EndOfTurn();
const anybody = openCall({ requestId: "1", callerInstance: "test", cancelled: false });

/** A coalescer whose statements end when the test says so. */
function gated(options: { inFlight?: number; slots?: Slots } = {}) {
  const batches: { readonly inputs: number[]; end(): void; fail(error: Error): void }[] = [];
  const calls = new Coalescer<number, string>({
    name: "test",
    inFlight: options.inFlight ?? 1,
    turn,
    rank: 1,
    ...(options.slots ? { slots: options.slots } : {}),
    async run(batch: readonly Pending<number, string>[]) {
      const gate = Promise.withResolvers<void>();
      batches.push({ inputs: batch.map((call) => call.input), end: gate.resolve, fail: gate.reject });
      await gate.promise;
      for (const call of batch) call.answer(`answer ${call.input}`);
    },
  });
  return { calls, batches };
}

/** Lets this turn end, and the one that its end sets off. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 2; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

test("calls made together travel together, and what arrives meanwhile forms the next statement", async () => {
  const { calls, batches } = gated();
  const first = [1, 2, 3].map((input) => calls.submit(input, 1, anybody));
  await settled();
  const second = [4, 5].map((input) => calls.submit(input, 1, anybody));
  await settled();
  expect(batches.map((batch) => batch.inputs)).toEqual([[1, 2, 3]]);
  batches[0]?.end();
  expect(await Promise.all(first)).toEqual(["answer 1", "answer 2", "answer 3"]);
  await settled();
  expect(batches[1]?.inputs).toEqual([4, 5]);
  batches[1]?.end();
  expect(await Promise.all(second)).toEqual(["answer 4", "answer 5"]);
});

test("a call whose caller leaves while it waits is never sent", async () => {
  const { calls, batches } = gated();
  const first = calls.submit(1, 1, anybody);
  await settled();
  const leaving = new AbortController();
  const call = openCall({ requestId: "2", callerInstance: "test", cancelled: false, signal: leaving.signal });
  const left = calls.submit(2, 1, call);
  const stays = calls.submit(3, 1, anybody);
  leaving.abort();
  await expect(left).rejects.toMatchObject({ kind: "cancelled" });
  batches[0]?.end();
  await first;
  await settled();
  expect(batches[1]?.inputs).toEqual([3]);
  batches[1]?.end();
  expect(await stays).toBe("answer 3");
});

test("a caller that leaves while its statement is under way does not disturb its neighbours", async () => {
  const { calls, batches } = gated();
  const leaving = new AbortController();
  const call = openCall({ requestId: "2", callerInstance: "test", cancelled: false, signal: leaving.signal });
  const left = calls.submit(1, 1, call);
  const stays = calls.submit(2, 1, anybody);
  await settled();
  leaving.abort();
  await expect(left).rejects.toMatchObject({ kind: "cancelled" });
  batches[0]?.end();
  expect(await stays).toBe("answer 2");
});

test("a statement that fails fails its own calls and no others", async () => {
  const { calls, batches } = gated();
  const first = calls.submit(1, 1, anybody);
  await settled();
  const second = calls.submit(2, 1, anybody);
  batches[0]?.fail(new Error("lost"));
  await expect(first).rejects.toMatchObject({ kind: "plugin_failure" });
  await settled();
  batches[1]?.end();
  expect(await second).toBe("answer 2");
});

test("no statement carries more than 256 calls or 8 MiB", async () => {
  const { calls, batches } = gated({ inFlight: 5 });
  const many = Array.from({ length: 257 }, (_, input) => calls.submit(input, 1, anybody));
  await settled();
  const large = [1, 2, 3].map((input) => calls.submit(input, 4 * 1024 * 1024, anybody));
  await settled();
  expect(batches.map((batch) => batch.inputs.length)).toEqual([256, 1, 2, 1]);
  for (const batch of batches) batch.end();
  await Promise.all([...many, ...large]);
});

test("too many waiting bytes are resource_exhausted, and those that wait are served", async () => {
  const { calls, batches } = gated();
  const first = calls.submit(1, 1, anybody);
  await settled();
  const waits = calls.submit(2, 512 * 1024 * 1024, anybody);
  await expect(calls.submit(3, 1, anybody)).rejects.toMatchObject({ kind: "resource_exhausted" });
  batches[0]?.end();
  await first;
  await settled();
  batches[1]?.end();
  expect(await waits).toBe("answer 2");
});

test("callers that left do not count among those that wait", async () => {
  const { calls, batches } = gated();
  const first = calls.submit(1, 1, anybody);
  await settled();
  const listeners: ((reason: RuntimeFailureError) => void)[] = [];
  const call: Call = {
    caller: "test",
    over: undefined,
    onOver: (listener) => (listeners.push(listener), () => {}),
  };
  const left = Array.from({ length: maxWaitingCalls }, (_, index) =>
    calls.submit(2, index === 0 ? 512 * 1024 * 1024 : 0, call),
  );
  await expect(calls.submit(3, 0, anybody)).rejects.toMatchObject({ kind: "resource_exhausted" });
  for (const leave of listeners) leave(new RuntimeFailureError("cancelled", "left"));
  const reasons = (await Promise.allSettled(left)).map((each) => each.status);
  expect(new Set(reasons)).toEqual(new Set(["rejected"]));
  const stays = calls.submit(4, 512 * 1024 * 1024, anybody);
  await expect(calls.submit(5, 1, anybody)).rejects.toMatchObject({ kind: "resource_exhausted" });
  batches[0]?.end();
  await first;
  await settled();
  expect(batches.map((batch) => batch.inputs)).toEqual([[1], [4]]);
  batches[1]?.end();
  expect(await stays).toBe("answer 4");
  await calls.idle();
});

test("coalescers that share places take turns", async () => {
  const slots = new Slots(1);
  const one = gated({ slots });
  const other = gated({ slots });
  const calls = [one.calls.submit(1, 1, anybody), other.calls.submit(2, 1, anybody)];
  await settled();
  calls.push(one.calls.submit(3, 1, anybody));
  await settled();
  expect([one.batches.length, other.batches.length]).toEqual([1, 0]);
  one.batches[0]?.end();
  await settled();
  expect([one.batches.length, other.batches.length]).toEqual([1, 1]);
  other.batches[0]?.end();
  await settled();
  expect(one.batches[1]?.inputs).toEqual([3]);
  one.batches[1]?.end();
  await Promise.all(calls);
});

test("a place that comes free in the middle of a turn is taken at its end, by all that were called until then", async () => {
  const slots = new Slots(1);
  const one = gated({ slots });
  const other = gated({ slots });
  const calls = [one.calls.submit(1, 1, anybody), other.calls.submit(2, 1, anybody)];
  await settled();
  one.batches[0]?.end();
  await calls[0];
  for (let hop = 1; hop <= 20; hop += 1) await Promise.resolve(); // the place is free by then, and the turn goes on
  calls.push(other.calls.submit(3, 1, anybody));
  await settled();
  expect(other.batches.map((batch) => batch.inputs)).toEqual([[2, 3]]);
  other.batches[0]?.end();
  await Promise.all(calls);
});

test("idle resolves only when nothing waits and nothing is under way", async () => {
  const { calls, batches } = gated();
  const call = calls.submit(1, 1, anybody);
  let idle = false;
  const waiting = calls.idle().then(() => {
    idle = true;
  });
  await settled();
  expect(idle).toBe(false);
  batches[0]?.end();
  await call;
  await waiting;
  await calls.idle();
});

test("what somebody else's statements carry keeps to the same bound", async () => {
  const { calls, batches } = gated({ inFlight: 2 });
  const gate = Promise.withResolvers<void>();
  const carried: number[][] = [];
  const carry = (): void =>
    calls.carry(async (batch) => {
      carried.push(batch.map((call) => call.input));
      await gate.promise;
      for (const call of batch) call.answer(`carried ${call.input}`);
    });
  const answers = [];
  for (const input of [1, 2, 3]) {
    answers.push(calls.submit(input, 1, anybody));
    carry(); // before the end of the turn, as a claim does
  }
  await settled();
  expect({ carried, sent: batches.length }).toEqual({ carried: [[1], [2]], sent: 0 });
  const idle = calls.idle();
  gate.resolve();
  await settled();
  expect(batches.map((batch) => batch.inputs)).toEqual([[3]]);
  batches[0]?.end();
  expect(await Promise.all(answers)).toEqual(["carried 1", "carried 2", "answer 3"]);
  await idle;
});

test("what somebody else's statement carries is under way too: idle waits for it", async () => {
  const { calls, batches } = gated();
  const call = calls.submit(1, 1, anybody);
  const carried = Promise.withResolvers<void>();
  calls.carry(async ([pending]) => {
    await carried.promise;
    pending?.answer("carried");
  });
  await settled();
  expect(batches).toEqual([]);
  const idle = calls.idle().then(() => "idle" as const);
  expect(await Promise.race([idle, settled()])).toBeUndefined();
  carried.resolve();
  expect(await call).toBe("carried");
  expect(await idle).toBe("idle");
});
