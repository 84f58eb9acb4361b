import { expect, test } from "bun:test";
import { afterFailure, TaskQueueError, taskErrorDiagnostic } from "./task-queue-error.ts";

test("the message is fixed by code and phase, and the driver's words stay in the cause", () => {
  const cause = new Error("password=hunter2");
  const error = new TaskQueueError("provider-unavailable", "enqueue", { cause });
  expect(error.message).toBe("the job was not enqueued: the queue's provider could not answer");
  expect(error.cause).toBe(cause);
  expect(taskErrorDiagnostic(error)).toEqual({
    code: "provider-unavailable",
    phase: "enqueue",
    message: error.message,
  });
});

test("a diagnostic is of real errors only, and cannot be made to say something else", () => {
  const error = new TaskQueueError("closed", "get");
  Object.assign(error, { code: "x", message: "secret" });
  expect(taskErrorDiagnostic(error)).toMatchObject({ code: "closed", phase: "get" });
  expect(taskErrorDiagnostic(error)?.message).not.toContain("secret");
  const forged = Object.assign(Object.create(TaskQueueError.prototype), { code: "closed", phase: "get" });
  for (const other of [
    forged,
    Object.assign({}, error),
    new Error("x"),
    new Proxy(error, {}),
    null,
    undefined,
    "x",
  ])
    expect(taskErrorDiagnostic(other)).toBeUndefined();
});

test("two failures at once are both told, the first one first", async () => {
  const [primary, cleanup] = [new Error("primary"), new Error("cleanup")];
  expect(await afterFailure(primary, async () => {})).toBe(primary);
  const both = await afterFailure(primary, () => Promise.reject(cleanup));
  expect(both).toBeInstanceOf(AggregateError);
  expect((both as AggregateError).errors).toEqual([primary, cleanup]);
});
