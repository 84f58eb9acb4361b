import { expect, test } from "bun:test";
import * as v from "valibot";
import type { AppPlugin } from "../../capability/index.ts";
import {
  createManageAdapter,
  type ManageAdapterOptions,
  type ManageErrorCode,
  type OperationOutcome,
} from "./create-manage-adapter.ts";
import { defineManage } from "./define-manage.ts";
import { defineOperation, type OperationContext, type OperationDefinition } from "./define-operation.ts";
import { OperationError } from "./operation-error.ts";
import { startApp } from "./start-app.ts";

interface Notes {
  work(input: { readonly id: string }, context: OperationContext): unknown;
}

interface SetupOptions {
  readonly declared?: Partial<OperationDefinition<Notes, typeof schema>>;
  readonly adapter?: Partial<ManageAdapterOptions>;
}

const schema = v.object({ id: v.pipe(v.string(), v.toUpperCase()) });

/** An application with one operation `work`, its adapter, and a trace of every stage of its calls. */
async function setup(work: Notes["work"], { declared = {}, adapter: options = {} }: SetupOptions = {}) {
  const stages: string[] = [];
  const value: Notes = {
    work(input, context) {
      stages.push(`work ${JSON.stringify(input)}`);
      if (this !== value) throw new Error("called without its object");
      return work(input, context);
    },
  };
  const plugin: AppPlugin<Notes> = { id: "notes", requires: [], setup: () => value };
  const tracedSchema = v.pipe(
    schema,
    v.check(() => stages.push("validate") > 0),
  );
  const operation = defineOperation({
    plugin,
    method: "work",
    input: tracedSchema,
    description: "Works.",
    effect: "write",
    destructive: false,
    retry: "look-first",
    cancellation: "ignored",
    ...declared,
  });
  const running = await startApp({ plugins: [plugin] });
  const errors: unknown[] = [];
  const adapter = createManageAdapter({
    running,
    manage: defineManage({ plugin, operations: { work: operation } }),
    canList: () => stages.push("canList") > 0,
    maxOutputBytes: 100,
    onError: (error) => errors.push(error),
    ...options,
  });
  return { adapter, running, stages, errors, operation };
}

const asked = { declared: { confirmation: "Sure?", approval: "The boss." } };

/** A refusal whose message holds this. */
const coded = (code: ManageErrorCode, part = ""): OperationOutcome =>
  ({ ok: false, error: { code, message: expect.stringContaining(part) } }) as never;

test("a call goes through its stages in their order and answers JSON", async () => {
  const made = await setup(() => ({ done: [1, null] }), {
    ...asked,
    adapter: {
      confirm: ({ input }) => made.stages.push(`confirm ${JSON.stringify(input)}`) > 0,
      approve: async ({ name, operation }) =>
        made.stages.push(`approve ${name} ${String(operation.approval)}`) > 0,
    },
  });
  expect(await made.adapter.invoke("work", { id: "a" })).toEqual({ ok: true, data: { done: [1, null] } });
  expect(made.stages).toEqual([
    "canList",
    "validate",
    'confirm {"id":"A"}',
    "approve work The boss.",
    'work {"id":"A"}',
  ]);
});

test("an unknown name and one that may not be listed get the same answer, and nothing runs", async () => {
  const { adapter, stages } = await setup(() => null, { adapter: { canList: () => false } });
  const hidden = await adapter.invoke("work", { id: 5 });
  expect(hidden).toEqual(coded("unknown-operation"));
  for (const name of ["erase", "toString", "__proto__"]) {
    expect(await adapter.invoke(name, { id: "a" })).toEqual(hidden);
  }
  expect(await adapter.catalog()).toEqual([]);
  expect(stages).toEqual([]);
});

test("an input that the schema refuses is told by its place alone, and nobody is asked", async () => {
  const secret = ["CANARY", "input"].join("-");
  const { adapter, stages } = await setup(() => null, asked);
  expect(await adapter.invoke("work", { id: [secret] })).toEqual({
    ok: false,
    error: { code: "invalid-input", message: "the schema refuses $.id" },
  });
  expect(stages).toEqual(["canList"]);
});

test.each<[string, unknown]>([
  ["a Date", { id: new Date() }],
  ["undefined", undefined],
  ["NaN", { id: "a", n: Number.NaN }],
  ["a function", { id: () => "a" }],
  ["more than a MiB", { id: "a".repeat(1_048_577) }],
  ["a lone surrogate", { id: "\ud800" }],
])("an input with %s is refused", async (_name, input) => {
  const { adapter, stages } = await setup(() => null);
  expect(await adapter.invoke("work", input)).toEqual(coded("invalid-input"));
  expect(stages).toEqual(["canList"]);
});

test.each(["actor", "Actor", "subject", "subjectId", "subject_id", "realmId", "principal", "onBehalfOf"])(
  "an input that says who calls is refused, though the schema would let it pass: %s",
  async (name) => {
    const { adapter, stages } = await setup(() => null);
    expect(await adapter.invoke("work", { id: "a", [name]: "root" })).toEqual(
      coded("invalid-input", `$.${name}: an input cannot say who calls`),
    );
    expect(stages).toEqual(["canList"]);
  },
);

test("a member such as subjectId is an ordinary one where the schema declares it, an actor never is", async () => {
  const input = v.object({ id: v.string(), subjectId: v.string(), actor: v.optional(v.string()) });
  const { adapter } = await setup((given) => given, { declared: { input: input as never } });
  expect(await adapter.invoke("work", { id: "a", subjectId: "s" })).toEqual({
    ok: true,
    data: { id: "a", subjectId: "s" },
  });
  expect(await adapter.invoke("work", { id: "a", subjectId: "s", actor: "root" })).toEqual(
    coded("invalid-input"),
  );
});

test.each<[string, Partial<ManageAdapterOptions>]>([
  ["nobody", {}],
  ["no", { confirm: () => false }],
  ["something truthy", { confirm: (() => "yes") as never }],
])("a call that needs a confirmation and gets %s for it is refused", async (_name, adapterOptions) => {
  const { adapter, stages } = await setup(() => null, { ...asked, adapter: adapterOptions });
  expect(await adapter.invoke("work", { id: "a" })).toEqual(coded("not-confirmed"));
  expect(stages).toEqual(["canList", "validate"]);
});

test.each<[string, Partial<ManageAdapterOptions>]>([
  ["nobody", {}],
  ["something truthy", { approve: (() => Promise.resolve(1)) as never }],
])("a call that needs an approval and gets %s for it is refused", async (_name, adapterOptions) => {
  const { adapter, stages } = await setup(() => null, {
    ...asked,
    adapter: { confirm: () => true, ...adapterOptions },
  });
  expect(await adapter.invoke("work", { id: "a" })).toEqual(coded("not-approved"));
  expect(stages).toEqual(["canList", "validate"]);
});

test("what a method throws stays inside, unless it is meant for the caller; nothing is tried twice", async () => {
  const secret = ["CANARY", "error"].join("-");
  const { adapter, errors, stages } = await setup(() => Promise.reject(new Error(secret)));
  const outcome = await adapter.invoke("work", { id: "a" });
  expect(outcome).toEqual(coded("operation-failed"));
  expect(JSON.stringify(outcome)).not.toContain(secret);
  expect(errors.map(String)).toEqual([`Error: ${secret}`]);
  expect(stages.filter((stage) => stage.startsWith("work"))).toHaveLength(1);

  const refusing = await setup(() => {
    throw new OperationError("note-missing", "no such note");
  });
  expect(await refusing.adapter.invoke("work", { id: "a" })).toEqual({
    ok: false,
    error: { code: "note-missing", message: "no such note" },
  });
  expect(refusing.errors).toEqual([]);
});

test("a stage that throws ends the call before its method", async () => {
  const { adapter, errors, stages } = await setup(() => null, {
    ...asked,
    adapter: { confirm: () => Promise.reject(new Error("no screen")) },
  });
  expect(await adapter.invoke("work", { id: "a" })).toEqual(
    coded("operation-failed", "nothing has happened"),
  );
  expect(errors.map(String)).toEqual(["Error: no screen"]);
  expect(stages).toEqual(["canList", "validate"]);
});

test("an answer has to be plain JSON within the bytes; nothing is null", async () => {
  const of = async (answer: unknown) => (await setup(() => answer)).adapter.invoke("work", { id: "a" });
  expect(await of(undefined)).toEqual({ ok: true, data: null });
  for (const answer of [new Date(), new Map(), { at: undefined }, { n: 1n }, [Number.NaN], Symbol.iterator]) {
    expect(await of(answer)).toEqual(coded("invalid-output"));
  }
  const cycle: unknown[] = [];
  cycle.push(cycle);
  expect(await of(cycle)).toEqual(coded("invalid-output"));
  // 100 bytes are 98 letters in quotes; an umlaut takes two.
  expect(await of("a".repeat(98))).toEqual({ ok: true, data: "a".repeat(98) });
  expect(await of("a".repeat(99))).toEqual(coded("output-too-large"));
  expect(await of("ä".repeat(49))).toEqual({ ok: true, data: "ä".repeat(49) });
  expect(await of("ä".repeat(50))).toEqual(coded("output-too-large"));
});

test("cancelling before the method has been called calls nothing", async () => {
  const controller = new AbortController();
  const { adapter, stages } = await setup(() => null, {
    ...asked,
    adapter: {
      confirm: async ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("gone")));
          controller.abort();
        }),
    },
  });
  expect(await adapter.invoke("work", { id: "a" }, controller)).toEqual(
    coded("cancelled", "nothing has happened"),
  );
  expect(await adapter.invoke("work", { id: "a" }, { signal: AbortSignal.abort() })).toEqual(
    coded("cancelled"),
  );
  expect(stages.filter((stage) => stage.startsWith("work"))).toEqual([]);
});

test("cancelling a cooperative method waits for it, and what it then says is the answer", async () => {
  const controller = new AbortController();
  const ending = Promise.withResolvers<void>();
  const work: Notes["work"] = async (_input, { signal }) => {
    controller.abort();
    expect(signal.aborted).toBe(true);
    await ending.promise;
    return "written";
  };
  const { adapter } = await setup(work, { declared: { cancellation: "cooperative" } });
  const outcome = adapter.invoke("work", { id: "a" }, controller);
  await new Promise((resolve) => setImmediate(resolve));
  expect(Bun.peek.status(outcome)).toBe("pending");
  ending.resolve();
  expect(await outcome).toEqual({ ok: true, data: "written" });

  const second = new AbortController();
  const throwing = await setup(
    (_input, { signal }) => {
      second.abort();
      signal.throwIfAborted();
    },
    { declared: { cancellation: "cooperative" } },
  );
  expect(await throwing.adapter.invoke("work", { id: "a" }, second)).toEqual(
    coded("cancelled", "may have happened"),
  );
});

test("cancelling a method that ignores it answers without waiting", async () => {
  const controller = new AbortController();
  let seen: AbortSignal | undefined;
  const { adapter } = await setup((_input, { signal }) => {
    seen = signal;
    controller.abort();
    return new Promise(() => undefined);
  });
  expect(await adapter.invoke("work", { id: "a" }, controller)).toEqual(coded("cancelled"));
  expect(seen?.aborted).toBe(true);
});

test("after the application's stop a call is refused as unavailable, and the adapter stops nothing itself", async () => {
  const { adapter, running, stages } = await setup(() => null);
  expect(await adapter.invoke("work", { id: "a" })).toEqual({ ok: true, data: null });
  await running.stop();
  stages.length = 0;
  expect(await adapter.invoke("work", { id: "a" })).toEqual(coded("unavailable"));
  expect(stages).toEqual(["canList", "validate"]);
});

test("the catalog describes what may be listed and nothing of how it is done", async () => {
  const { adapter } = await setup(() => null, asked);
  expect(await adapter.catalog()).toEqual([
    {
      name: "work",
      description: "Works.",
      effect: "write",
      destructive: false,
      retry: "look-first",
      cancellation: "ignored",
      confirmation: "Sure?",
      approval: "The boss.",
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { id: { type: "string" } },
        required: ["id"],
      },
    },
  ]);
});

test("a declared method that the value lacks, a wrong bound and a plugin of another application are refused at once", async () => {
  const { operation, running } = await setup(() => null);
  const { plugin } = operation;
  const options = { running, canList: () => true, maxOutputBytes: 100 };
  for (const method of ["erase", "toString", "hasOwnProperty"]) {
    const manage = defineManage({ plugin, operations: { work: { ...operation, method } } });
    expect(() => createManageAdapter({ ...options, manage })).toThrow(
      expect.objectContaining({ code: "invalid_operation" }),
    );
  }
  const manage = defineManage({ plugin, operations: { work: operation } });
  expect(() => createManageAdapter({ ...options, manage, maxOutputBytes: 0 })).toThrow(RangeError);
  const elsewhere = await startApp({ plugins: [] });
  expect(() => createManageAdapter({ ...options, manage, running: elsewhere })).toThrow(
    expect.objectContaining({ code: "missing_plugin" }),
  );
});
