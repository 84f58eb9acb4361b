import { expect, test } from "bun:test";
import { AnswerSize, jobsThatFit } from "./answer-size.ts";

const payloads = (count: number, size: number) =>
  Array.from({ length: count }, () => ({ payload: "x".repeat(size) }));

test("all that is wanted is asked for, until an answer was cut short; then as much as fits in any case", () => {
  const size = new AnswerSize();
  expect(size.atMost(256)).toBe(256);
  size.learn(payloads(256, 100), false);
  expect(size.atMost(256)).toBe(256);
  size.learn(payloads(jobsThatFit, 100), true);
  expect([size.atMost(256), size.atMost(5)]).toEqual([jobsThatFit, 5]);
});

test("large payloads keep it at that, an empty answer says nothing, and small payloads end it", () => {
  const size = new AnswerSize();
  size.learn(payloads(1, 1), true);
  size.learn(payloads(2, 100_000), false);
  size.learn([], false);
  expect(size.atMost(256)).toBe(jobsThatFit);
  size.learn(payloads(3, 1000), false);
  expect(size.atMost(256)).toBe(256);
});
