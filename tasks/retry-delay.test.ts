import { expect, test } from "bun:test";
import { retryDelayMs } from "./retry-delay.ts";

const draws = 200;

test("without a policy the next attempt is due at once, and without back-off after the delay", () => {
  expect(retryDelayMs(undefined, 3)).toBe(0);
  for (const attempt of [1, 5, 100])
    expect(retryDelayMs({ delaySeconds: 10, backoff: false }, attempt)).toBe(10_000);
});

test.each([
  [1, 10, 20],
  [2, 20, 40],
  [3, 40, 80],
  [16, 327_680, 604_800],
  [100, 327_680, 604_800],
])("back-off from 10 s: after attempt %d between %d and %d s", (attempt, least, most) => {
  for (let draw = 0; draw < draws; draw += 1)
    expect(retryDelayMs({ delaySeconds: 10, backoff: true }, attempt)).toBeWithin(
      least * 1000,
      most * 1000 + 1,
    );
});

test("the limit holds for what chance adds as well", () => {
  const policy = { delaySeconds: 10, backoff: true, maxDelaySeconds: 15 };
  const delays = Array.from({ length: draws }, () => retryDelayMs(policy, 1));
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(10_000);
  expect(Math.max(...delays)).toBe(15_000);
  expect(retryDelayMs(policy, 2)).toBe(15_000);
});
