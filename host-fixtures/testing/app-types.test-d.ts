// Checked by tsc: what these calls infer, and what must not compile.
import { expectTypeOf } from "bun:test";
import * as v from "valibot";
import { z } from "zod";
import type { AppPlugin as TasksAppPlugin } from "../../tasks/index.ts";
import {
  type AppPlugin,
  createManageAdapter,
  defineManage,
  defineOperation,
  type Operation,
  type OperationContext,
  type OperationOutcome,
  type RunningApp,
  selectManageOperations,
  startApp,
} from "../index.ts";

interface Notes {
  readonly title: string;
  read(note: { readonly id: string }): string | null;
  write(note: { readonly id: string; readonly size: number }, context: OperationContext): Promise<void>;
  count(): number;
  three(a: object, b: OperationContext, c: number): void;
}

declare const notes: AppPlugin<Notes>;
declare const running: RunningApp;

// One definition, wherever it is imported from.
expectTypeOf<TasksAppPlugin<Notes>>().toEqualTypeOf<AppPlugin<Notes>>();

const declared = {
  plugin: notes,
  description: "…",
  effect: "read",
  destructive: false,
  retry: "safe",
  cancellation: "ignored",
} as const;
const id = v.strictObject({ id: v.string() });

const read = defineOperation({ ...declared, method: "read", input: id });
expectTypeOf(read).toEqualTypeOf<Operation>();
defineOperation({ ...declared, method: "count", input: id });
// A method takes what the schema makes of an input, so a transform counts.
const sized = z.strictObject({ id: z.string(), size: z.string().transform(Number) });
const write = defineOperation({ ...declared, effect: "write", method: "write", input: sized });

// @ts-expect-error no such method
defineOperation({ ...declared, method: "erase", input: id });
// @ts-expect-error no method at all
defineOperation({ ...declared, method: "title", input: id });
// @ts-expect-error the method needs a size as well
defineOperation({ ...declared, method: "write", input: id });
// @ts-expect-error the size would be a text
defineOperation({ ...declared, method: "write", input: v.object({ id: v.string(), size: v.string() }) });
// @ts-expect-error nobody gives a method a third argument
defineOperation({ ...declared, method: "three", input: id });
// @ts-expect-error effects are read and write
defineOperation({ ...declared, effect: "none", method: "read", input: id });
// @ts-expect-error what a retry means has to be said
defineOperation({ ...declared, retry: undefined, method: "read", input: id });
// @ts-expect-error a confirmation is a question, not a flag
defineOperation({ ...declared, confirmation: true, method: "read", input: id });

const manage = defineManage({ plugin: notes, operations: { read, write } });
expectTypeOf(selectManageOperations(manage, ["read"])).toEqualTypeOf<
  Pick<{ readonly read: Operation; readonly write: Operation }, "read">
>();
// @ts-expect-error no operation of this name
selectManageOperations(manage, ["erase"]);

async function apps(): Promise<void> {
  const app = await startApp({ plugins: [notes] });
  expectTypeOf(app.get(notes)).toEqualTypeOf<Notes>();
  const options = { running, manage, maxOutputBytes: 1000 };
  const adapter = createManageAdapter({ ...options, canList: () => true });
  expectTypeOf(await adapter.invoke("read", { id: "a" })).toEqualTypeOf<OperationOutcome>();
  // @ts-expect-error who may see what has to be said
  createManageAdapter(options);
}

void apps;
