import { expect, test } from "bun:test";
import * as v from "valibot";
import { defineTask, isTask } from "./define-task.ts";
import { TaskQueueError } from "./task-queue-error.ts";

const fine = { name: "task", input: v.string(), handler: () => {} };
const define = (changes: object) => defineTask({ ...fine, ...changes });

test("a task has defaults and is frozen", () => {
  const task = defineTask({ ...fine, retry: { delaySeconds: 5 } });
  expect(task).toMatchObject({ name: "task", maxAttempts: 3, retry: { delaySeconds: 5, backoff: false } });
  expect(Object.isFrozen(task)).toBe(true);
  expect(Object.isFrozen(task.retry)).toBe(true);
});

test("without a delay there is no retry policy, and growth starts at one second", () => {
  expect(define({ retry: {} }).retry).toBeUndefined();
  expect(define({ retry: { backoff: true, maxDelaySeconds: 60 } }).retry).toEqual({
    backoff: true,
    delaySeconds: 1,
    maxDelaySeconds: 60,
  });
});

test("a task is known by what defineTask returned", () => {
  const task = define({});
  expect(isTask(task)).toBe(true);
  expect(isTask({ ...task })).toBe(false);
  expect(isTask(null)).toBe(false);
});

test.each([
  [{ name: "" }, "name: expected ^[a-zA-Z]"],
  [{ name: "1a" }, "name: expected"],
  [{ name: "a".repeat(129) }, "got a text of 129 characters"],
  [{ input: {} }, "input: expected a Standard Schema v1"],
  [{ input: null }, "input: expected a Standard Schema v1"],
  [{ handler: 1 }, "handler: expected a function"],
  [{ result: {} }, "result: expected a function"],
  [{ maxAttempts: 0 }, "maxAttempts: expected an integer 1..100, got 0"],
  [{ maxAttempts: 101 }, "maxAttempts: expected an integer 1..100, got 101"],
  [{ maxAttempts: 1.5 }, "maxAttempts: expected an integer 1..100, got 1.5"],
  [{ retry: { delaySeconds: 0 } }, "retry.delaySeconds: expected an integer 1..604800, got 0"],
  [{ retry: { delaySeconds: 604_801 } }, "retry.delaySeconds"],
  [{ retry: { delaySeconds: 1, maxDelaySeconds: 5 } }, "retry: maxDelaySeconds needs backoff: true"],
  [{ retry: { backoff: true, maxDelaySeconds: 0 } }, "retry.maxDelaySeconds"],
  [{ retry: { attempts: 3 } }, "retry.attempts: no such key"],
  [{ timeout: 3 }, "timeout: no such key"],
])("%j is refused with its key", (changes, words) => {
  let refusal: unknown;
  try {
    define(changes);
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(TaskQueueError);
  expect(refusal).toMatchObject({ code: "invalid-task", phase: "define" });
  expect(((refusal as TaskQueueError).cause as Error).message).toContain(words);
});
