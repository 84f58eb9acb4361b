import { expect, test } from "bun:test";
import { RateLimit } from "./rate-limit.ts";

test("a rate lets a burst through, then as much as time brings, and counts what it refuses", () => {
  let now = 0;
  const rate = new RateLimit({ burst: 3, perSecond: 2 }, () => now);
  const take = (times: number): number =>
    Array.from({ length: times }, () => rate.take()).filter(Boolean).length;
  expect(take(5)).toBe(3);
  expect([rate.takeRefused(), rate.takeRefused()]).toEqual([2, 0]);
  now = 499;
  expect(take(1)).toBe(0);
  now = 500;
  expect(take(2)).toBe(1);
  now = 3_600_000;
  expect(take(5)).toBe(3);
  expect(rate.takeRefused()).toBe(4);
});
