import { expect, test } from "bun:test";
import * as v from "valibot";
import type { JsonValue } from "../capability/index.ts";
import { defineTask, type Task } from "./define-task.ts";
import { createExecute } from "./execute-task.ts";
import { quietLogger } from "./logger.ts";

const fine = { name: "task", input: v.object({ n: v.number() }), handler: (): unknown => 1 };

function execute(
  changes: { readonly handler?: Task["handler"]; readonly result?: (value: unknown) => unknown },
  claim: {
    readonly task?: string;
    readonly attempt?: number;
    readonly input?: JsonValue;
    readonly signal?: AbortSignal;
  } = {},
) {
  const errors: unknown[] = [];
  const logger = { info: () => {}, warn: () => {}, error: (fields: object) => void errors.push(fields) };
  const task = defineTask({ ...fine, ...changes });
  const run = createExecute({
    tasks: new Map([["task", task]]),
    logger: quietLogger(logger),
    handlersLog: true,
  });
  const { signal } = new AbortController();
  const outcome = run({ jobId: "j", attempt: 2, task: "task", input: { n: 1 }, signal, ...claim });
  return Object.assign(outcome, { errors });
}

test("an unknown task is a retryable invalid-input, later and later: an older worker during a deploy", async () => {
  const after = async (attempt: number) => {
    const result = await execute({}, { task: "newer", attempt });
    expect(result).toMatchObject({ ok: false, error: "invalid-input", final: false });
    return "afterSeconds" in result ? result.afterSeconds : undefined;
  };
  expect(await Promise.all([1, 2, 3, 50].map(after))).toEqual([5, 10, 20, 300]);
});

test("a stored input that the schema refuses is final, and the handler is not entered", async () => {
  let entered = false;
  const outcome = await execute({ handler: () => void (entered = true) }, { input: { n: "1" } });
  expect(outcome).toEqual({ ok: false, error: "invalid-input", final: true });
  expect(entered).toBe(false);
});

test.each<[string, (value: unknown) => unknown]>([
  [
    "throws",
    () => {
      throw new Error("x");
    },
  ],
  [
    "is cyclic",
    () => {
      const a: unknown[] = [];
      a.push(a);
      return a;
    },
  ],
  ["is longer than 16 KiB", () => "x".repeat(16_383)],
  ["is undefined", () => undefined],
  ["is a promise", () => Promise.resolve(1)],
])("a result that %s is final: the work is done, and doing it again cannot help", async (_name, result) => {
  const outcome = execute({ result });
  expect(await outcome).toEqual({ ok: false, error: "invalid-result", final: true });
  expect(outcome.errors).toHaveLength(1);
});

test("a result may take 16 KiB", async () => {
  expect(await execute({ result: () => "x".repeat(16_382) })).toMatchObject({ ok: true });
});

test("a handler that throws fails its attempt, whatever it throws", async () => {
  for (const thrown of [new Error("a\0b"), undefined, null, "text", Object.freeze({})]) {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- handlers do
    const outcome = execute({ handler: () => Promise.reject(thrown) });
    expect(await outcome).toEqual({ ok: false, error: "handler-failed", final: false });
    expect(outcome.errors).toHaveLength(1);
  }
});

test("an attempt that was aborted is retryable, whatever its handler returned or threw", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const returned = execute({ handler: () => controller.abort() }, { signal });
  expect(await returned).toEqual({ ok: false, error: "aborted", final: false });
  const threw = execute({ handler: () => signal.throwIfAborted() }, { signal });
  expect(await threw).toEqual({ ok: false, error: "aborted", final: false });
});

test("a handler gets its job, attempt, signal, and a logger that names them", async () => {
  const controller = new AbortController();
  let seen: object | undefined;
  const outcome = execute(
    {
      handler: (_input, context) => {
        seen = context;
        context.logger?.error({ extra: 1 }, "hello");
      },
    },
    { signal: controller.signal },
  );
  await outcome;
  expect(seen).toMatchObject({ jobId: "j", attempt: 2, signal: controller.signal });
  expect(outcome.errors).toEqual([{ jobId: "j", task: "task", attempt: 2, extra: 1 }]);
});

test("a logger that throws changes nothing", async () => {
  const fail = (): never => {
    throw new Error("log");
  };
  const logger = quietLogger({ info: fail, warn: fail, error: fail, child: fail });
  const task = defineTask({ ...fine, handler: fail });
  const run = createExecute({ tasks: new Map([["task", task]]), logger, handlersLog: true });
  const { signal } = new AbortController();
  expect(await run({ jobId: "j", attempt: 1, task: "task", input: { n: 1 }, signal })).toMatchObject({
    error: "handler-failed",
  });
});
