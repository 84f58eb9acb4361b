import { expect, test } from "bun:test";
import { batchCalls } from "./batch-calls.ts";

test("calls of one turn share a run, later ones the next, none more than the limit", async () => {
  const runs: number[][] = [];
  const call = batchCalls<number, number>(async (items) => {
    runs.push([...items]);
    await Bun.sleep(1);
    return items.map((item) => item * 10);
  }, 3);
  expect(await Promise.all([1, 2, 3, 4].map((item) => call(item)))).toEqual([10, 20, 30, 40]);
  expect(await call(5)).toBe(50);
  expect(runs).toEqual([[1, 2, 3], [4], [5]]);
});

test("a run that takes long holds up nobody: the next one begins beside it", async () => {
  const stalled = Promise.withResolvers<void>();
  const call = batchCalls<number, number>(async (items) => {
    if (items.includes(1)) await stalled.promise;
    return items;
  }, 10);
  const first = call(1);
  await Bun.sleep(0);
  expect(await call(2)).toBe(2);
  expect(await call(3)).toBe(3);
  stalled.resolve();
  expect(await first).toBe(1);
});

test("a run that fails rejects its own calls only", async () => {
  let runs = 0;
  const call = batchCalls<number, number>(async (items) => {
    runs += 1;
    if (runs === 1) throw new Error("down");
    return items;
  }, 1);
  const answers = await Promise.allSettled([call(1), call(2)]);
  expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
});
