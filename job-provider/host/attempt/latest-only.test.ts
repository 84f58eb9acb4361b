import { expect, test } from "bun:test";
import { latestOnly } from "./latest-only.ts";

/** Writes that a test ends by hand; `begun` gives them in order, once they have begun. */
function givenWrites(everyMs = 60_000) {
  const values: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const waiting: (() => void)[] = [];
  const latest = latestOnly<number>((value) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    values.push(value);
    ends.push((error) => (error ? reject(error) : resolve()));
    for (const wake of waiting.splice(0)) wake();
    return promise;
  }, everyMs);
  const begun = async (index: number): Promise<(error?: Error) => void> => {
    while (ends[index] === undefined) await new Promise<void>((resolve) => waiting.push(resolve));
    return ends[index];
  };
  return { latest, values, begun };
}

test("the first value is written at once, and what comes during that write waits as the latest only", async () => {
  const { latest, begun, values } = givenWrites();
  const first = latest.put(1);
  await latest.put(2);
  await latest.put(3);
  expect(values).toEqual([1]);
  (await begun(0))();
  await first;
  await latest.put(4); // too soon after the first
  const flushed = latest.flush();
  (await begun(1))();
  await flushed;
  expect(values).toEqual([1, 4]);
});

test("what waits is written by itself when its turn has come", async () => {
  const written = Promise.withResolvers<void>();
  const values: number[] = [];
  const latest = latestOnly<number>(async (value) => {
    values.push(value);
    if (value === 3) written.resolve();
  }, 5);
  await latest.put(1);
  await latest.put(2);
  await latest.put(3);
  await written.promise;
  await latest.flush();
  expect(values).toEqual([1, 3]);
});

test("a write that fails is told to whoever waits for it, and the next one is tried", async () => {
  const { latest, begun, values } = givenWrites();
  const first = latest.put(1);
  (await begun(0))(new Error("away"));
  await expect(first).rejects.toThrow("away");
  await latest.put(2);
  const flushed = latest.flush();
  (await begun(1))(new Error("still away"));
  await expect(flushed).rejects.toThrow("still away");
  await latest.flush();
  expect(values).toEqual([1, 2]);
});
