import { expect, test } from "bun:test";
import { setImmediate } from "node:timers/promises";
import { untilAborted } from "./until-aborted.ts";

async function* numbers(events: string[], most: number): AsyncGenerator<number, void> {
  try {
    for (let number = 0; number < most; number++) yield number;
  } finally {
    events.push("left");
  }
}

test("without an abort it is the source, also when it throws or is left early", async () => {
  for (const signal of [undefined, new AbortController().signal]) {
    const events: string[] = [];
    expect(await Array.fromAsync(untilAborted(numbers(events, 3), signal))).toEqual([0, 1, 2]);
    for await (const number of untilAborted(numbers(events, 3), signal)) if (number === 1) break;
    expect(events).toEqual(["left", "left"]);
    const own = new Error("the source's own");
    const throwing = (async function* (): AsyncGenerator<number, void> {
      yield 0;
      throw own;
    })();
    await expect(Array.fromAsync(untilAborted(throwing, signal))).rejects.toBe(own);
  }
});

test("an abort ends it between two items, and the source is left", async () => {
  const events: string[] = [];
  const controller = new AbortController();
  const seen: number[] = [];
  const reading = (async () => {
    for await (const number of untilAborted(numbers(events, 9), controller.signal)) {
      seen.push(number);
      if (number === 1) controller.abort("enough");
    }
  })();
  await expect(reading).rejects.toBe("enough");
  expect([seen, events]).toEqual([[0, 1], ["left"]]);
});

test("an abort ends it while the source hangs, and the next item is never read", async () => {
  const controller = new AbortController();
  const hanging = (async function* (): AsyncGenerator<number, void> {
    yield 0;
    await new Promise(() => {});
  })();
  const reading = untilAborted(hanging, controller.signal);
  expect(await reading.next()).toEqual({ done: false, value: 0 });
  const next = reading.next();
  controller.abort("enough");
  await expect(next).rejects.toBe("enough");
  expect(await reading.next()).toEqual({ done: true, value: undefined });
});

test("a signal that is aborted already does not begin the source", async () => {
  const events: string[] = [];
  await expect(Array.fromAsync(untilAborted(numbers(events, 3), AbortSignal.abort("enough")))).rejects.toBe(
    "enough",
  );
  expect(events).toEqual([]);
});

test("what has been read is not kept until the end, however long the stream is", async () => {
  const read: WeakRef<Uint8Array>[] = [];
  async function* chunks() {
    for (let index = 0; index < 64; index += 1) yield new Uint8Array(65_536);
  }
  const { signal } = new AbortController();
  for await (const chunk of untilAborted(chunks(), signal)) {
    read.push(new WeakRef(chunk));
    if (read.length < 64) continue;
    await setImmediate(); // a WeakRef keeps what it refers to until the turn is over
    Bun.gc(true);
    expect(read.filter((each) => each.deref() !== undefined).length).toBeLessThan(16);
  }
  expect(read).toHaveLength(64);
});
