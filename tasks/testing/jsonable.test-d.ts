// Checked by tsc: which types count as JSON, and that none of them is too deep to tell.
import { expectTypeOf } from "bun:test";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonValue } from "../../capability/index.ts";
import { createTaskQueue, defineTask, type TaskProvider } from "../index.ts";
import type { Jsonable, RequireJson } from "../jsonable.ts";

type IsJson<T> = unknown extends RequireJson<T> ? true : false;

interface Tree {
  readonly value: string;
  readonly parent?: Tree;
  children: Tree[];
}
interface Tainted {
  readonly at: Date;
  readonly children: readonly Tainted[];
}
type Nested = string | readonly Nested[] | { readonly [key: string]: Nested };
type NestedWithDates =
  | string
  | Date
  | readonly NestedWithDates[]
  | { readonly [key: string]: NestedWithDates };
interface Linked {
  value: number;
  next: Linked | null;
}
interface Even {
  odd?: Odd;
}
interface Odd {
  evens: readonly Even[];
  size: bigint;
}
type Shape =
  | { kind: "circle"; radius: number }
  | { kind: "box"; sides: readonly [number, number]; note?: string };

expectTypeOf<IsJson<JsonValue>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<readonly JsonValue[]>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<{ a: JsonValue; b?: JsonValue }>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<unknown>>().toEqualTypeOf<true>();
// `any`: what a schema without types infers.
expectTypeOf<IsJson<ReturnType<typeof JSON.parse>>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<Record<string, unknown>>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<Tree>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<Nested>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<Linked>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<Shape>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<readonly Shape[]>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<string[][][]>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<readonly [number, "a", { b: null }]>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<[first: number, second?: string]>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<{ a?: string; b?: string | undefined }>>().toEqualTypeOf<true>();
expectTypeOf<IsJson<Partial<Record<"a" | "b", number>>>>().toEqualTypeOf<true>();

expectTypeOf<IsJson<undefined>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<Date>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<string | Date>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<Map<string, string>>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<{ a: { b: bigint }[] }>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<{ a?: symbol }>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<readonly [number, () => void]>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<(string | undefined)[]>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<Shape | { kind: "at"; at: Date }>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<Tainted>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<NestedWithDates>>().toEqualTypeOf<false>();
expectTypeOf<IsJson<Even>>().toEqualTypeOf<false>();

expectTypeOf<Jsonable<JsonValue>>().toEqualTypeOf<JsonValue>();
expectTypeOf<Jsonable<string | Date>>().toExtend<string | object>();

declare const provider: TaskProvider;
declare function schema<T>(): StandardSchemaV1<T, T>;

const anything = defineTask({
  name: "anything",
  input: schema<JsonValue>(),
  handler: (input) => {
    expectTypeOf(input).toEqualTypeOf<JsonValue>();
    return input;
  },
  result: (value) => value,
});
const tree = defineTask({
  name: "tree",
  input: schema<Tree>(),
  handler: (input) => input,
  result: (value) => value.children,
});
const shape = defineTask({
  name: "shape",
  input: schema<Shape>(),
  handler: (input): readonly Shape[] => [input],
  result: (value) => value,
});
const untyped = defineTask({ name: "untyped", input: schema<unknown>(), handler: (input) => input });

defineTask({
  name: "tainted",
  // @ts-expect-error a Date somewhere in a recursive type is no JSON
  input: schema<Tainted>(),
  handler: () => {},
});
defineTask({
  name: "tainted-result",
  input: schema<null>(),
  handler: (): NestedWithDates => [],
  // @ts-expect-error neither is one in a recursive union
  result: (value) => value,
});

async function enqueues(): Promise<void> {
  const queue = createTaskQueue({ provider, tasks: [anything, tree, shape, untyped] });
  await queue.enqueue(anything, { a: [1, { b: null }] });
  await queue.enqueue(tree, { value: "root", children: [{ value: "leaf", children: [] }] });
  await queue.enqueue(shape, { kind: "box", sides: [1, 2] });
  await queue.enqueue(untyped, { whatever: true });
  // @ts-expect-error a member of a nested tree is missing
  await queue.enqueue(tree, { value: "root", children: [{ value: "leaf" }] });
}

void enqueues;
