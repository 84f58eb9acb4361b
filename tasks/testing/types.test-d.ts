// Checked by tsc: what these calls infer, and what must not compile.
import { expectTypeOf } from "bun:test";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import type { JobsClient } from "../../capability/index.ts";
import {
  createJobsWorker,
  createTaskPlugin,
  createTaskQueue,
  defineJobKind,
  defineTask,
  enqueueKind,
  handleKind,
  type JobStatus,
  type TaskProvider,
  type TaskQueue,
  type TaskWorker,
} from "../index.ts";

declare const provider: TaskProvider;
declare const jobs: JobsClient;

const mail = defineTask({
  name: "mail",
  input: v.object({ to: v.string(), copies: v.optional(v.number(), 1), note: v.optional(v.string()) }),
  handler: async (input, { signal, attempt, jobId }) => {
    expectTypeOf(input).toEqualTypeOf<{ to: string; copies: number; note?: string | undefined }>();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(attempt).toEqualTypeOf<number>();
    expectTypeOf(jobId).toEqualTypeOf<string>();
    return { sent: new Date(0), id: "x" };
  },
  result: (value) => {
    expectTypeOf(value).toEqualTypeOf<{ sent: Date; id: string }>();
    return { id: value.id, at: value.sent.toISOString() };
  },
});
expectTypeOf(mail.name).toEqualTypeOf<"mail">();

const page = defineTask({
  name: "page",
  input: z.object({ page: z.string().transform(Number), tags: z.array(z.string()).optional() }),
  handler: ({ page: number, tags }) => {
    expectTypeOf(number).toEqualTypeOf<number>();
    expectTypeOf(tags).toEqualTypeOf<string[] | undefined>();
  },
});

const count = defineTask({
  name: "count",
  input: type({ kind: "'a' | 'b'", "count?": "number" }),
  handler: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ kind: "a" | "b"; count?: number }>();
    return 3;
  },
  result: (value) => value,
});

const foreign = defineTask({ name: "foreign", input: v.object({ to: v.string() }), handler: () => {} });

defineTask({
  name: "date-input",
  // @ts-expect-error a Date is not JSON, so it cannot be an input
  input: v.object({ at: v.date() }),
  handler: () => {},
});

defineTask({
  name: "bigint-output",
  // @ts-expect-error what the schema makes of the input has to be JSON as well
  input: z.object({ n: z.string().transform(BigInt) }),
  handler: () => {},
});

defineTask({
  name: "date-result",
  input: v.string(),
  handler: () => new Date(),
  // @ts-expect-error a result that is not JSON
  result: (value) => ({ at: value }),
});

defineTask({
  name: "undefined-result",
  input: v.string(),
  handler: () => {},
  // @ts-expect-error nothing is not JSON: leave `result` out, or return null
  result: () => undefined,
});

defineTask({
  name: "promise-result",
  input: v.string(),
  handler: () => 1,
  // @ts-expect-error a projection is not asynchronous
  result: async (value) => value,
});

defineTask({
  name: "unknown-key",
  input: v.string(),
  handler: () => {},
  // @ts-expect-error no such option
  attempts: 3,
});

// @ts-expect-error a task needs a handler
defineTask({ name: "no-handler", input: v.string() });

const queue = createTaskQueue({ provider, tasks: [mail, page, count] });

async function queues(): Promise<void> {
  expectTypeOf(await queue.enqueue(mail, { to: "ada" })).toEqualTypeOf<string>();
  await queue.enqueue(page, { page: "3" }, { runAt: new Date(), deduplicationKey: "k" });
  await queue.enqueue(count, { kind: "a" });
  // @ts-expect-error the schema's input, not its output
  await queue.enqueue(page, { page: 3 });
  // @ts-expect-error a member is missing
  await queue.enqueue(mail, {});
  // @ts-expect-error the input of another task
  await queue.enqueue(count, { to: "ada" });
  // @ts-expect-error a task of another queue
  await queue.enqueue(foreign, { to: "ada" });
  // @ts-expect-error no such option
  await queue.enqueue(mail, { to: "ada" }, { delay: 3 });
  await queue.list({ tasks: [mail, "page"] });
  // @ts-expect-error no task of this queue
  await queue.list({ tasks: ["foreign"] });
  expectTypeOf(await queue.get("id")).toEqualTypeOf<JobStatus | null>();
  expectTypeOf(queue.startWorker({ concurrency: 3 })).toEqualTypeOf<TaskWorker>();
}

const plugin = createTaskPlugin({ id: "tasks", tasks: [mail], connect: () => provider });
expectTypeOf(plugin.setup).returns.resolves.toEqualTypeOf<TaskQueue<typeof mail>>();

const sendMail = defineJobKind({ kind: "mail.send", payload: v.object({ to: v.string() }) });
// @ts-expect-error a payload is an object
defineJobKind({ kind: "text", payload: v.string() });
// @ts-expect-error a payload is JSON
defineJobKind({ kind: "date", payload: v.object({ at: v.date() }) });

async function kinds(): Promise<void> {
  await enqueueKind(jobs, sendMail, { queue: "mail", payload: { to: "ada" }, idempotencyKey: "k" });
  // @ts-expect-error the payload of another kind
  await enqueueKind(jobs, sendMail, { queue: "mail", payload: { too: "ada" }, idempotencyKey: "k" });
  createJobsWorker({
    jobs,
    queue: "mail",
    handlers: [
      handleKind(sendMail, (payload, { signal }) => {
        expectTypeOf(payload).toEqualTypeOf<{ to: string }>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      }),
    ],
  });
}

void [queues, kinds];
