import { expect, test } from "bun:test";
import { type } from "arktype";
import * as v from "valibot";
import type { AppPlugin } from "../../capability/index.ts";
import { defineManage } from "./define-manage.ts";
import { defineOperation } from "./define-operation.ts";
import { OperationError } from "./operation-error.ts";
import { selectManageOperations } from "./select-manage-operations.ts";

const plugin: AppPlugin<{ read(): string; write(): void }> = {
  id: "notes",
  requires: [],
  setup: () => ({ read: () => "", write: () => undefined }),
};
const fields = {
  plugin,
  method: "read",
  input: v.strictObject({}),
  description: "Reads.",
  effect: "read",
  destructive: false,
  retry: "safe",
  cancellation: "ignored",
} as const;
const read = defineOperation(fields);
const write = defineOperation({
  ...fields,
  method: "write",
  effect: "write",
  destructive: true,
  approval: "A second pair of eyes.",
});

test("an operation is exactly what was declared, and frozen", () => {
  expect({ ...write }).toEqual({
    ...fields,
    method: "write",
    effect: "write",
    destructive: true,
    approval: "A second pair of eyes.",
  });
  expect(Object.isFrozen(write)).toBe(true);
  expect(defineOperation({ ...fields, input: type({}) }).method).toBe("read");
});

test.each<[string, object, RegExp]>([
  ["an unknown field", { idempotent: true }, /operation\.idempotent: unknown field/],
  ["a missing field", { retry: undefined }, /operation\.retry: expected one of safe, look-first, never/],
  ["another effect", { effect: "none" }, /operation\.effect: expected one of read, write/],
  ["a flag for a question", { confirmation: true }, /operation\.confirmation: expected a text/],
  ["an empty description", { description: " " }, /operation\.description: expected 1\.\.1000 characters/],
  ["a schema that is none", { input: {} }, /operation\.input: expected a Standard Schema v1/],
  ["a plugin that is none", { plugin: { id: "x" } }, /operation\.plugin: expected a plugin/],
  ["a destructive read", { destructive: true }, /operation: destructive: true needs effect: "write"/],
])("%s is refused", (_name, changes, message) => {
  expect(() => defineOperation({ ...fields, ...changes } as never)).toThrow(
    expect.objectContaining({ code: "invalid_operation", message: expect.stringMatching(message) }),
  );
});

test("manage keeps the declarations, under names that are fit for tools, of its own plugin only", () => {
  const manage = defineManage({ plugin, operations: { read, write } });
  expect(manage.operations.read).toBe(read);
  const other: typeof plugin = { ...plugin };
  const refused = { code: "invalid_operation" };
  expect(() => defineManage({ plugin: other, operations: { read } })).toThrow(
    expect.objectContaining(refused),
  );
  expect(() => defineManage({ plugin, operations: { "read it": read } })).toThrow(
    expect.objectContaining(refused),
  );
  expect(() => defineManage({ plugin, operations: { read: { ...read, effect: "?" } as never } })).toThrow(
    expect.objectContaining({ ...refused, message: expect.stringContaining("operations.read.effect") }),
  );
});

test("a selection holds the same declaration objects in the order of the names", () => {
  const manage = defineManage({ plugin, operations: { read, write } });
  const selected = selectManageOperations(manage, ["write", "read"]);
  expect(Object.keys(selected)).toEqual(["write", "read"]);
  expect(selected.write).toBe(write);
  expect(selectManageOperations(manage, [])).toEqual({});
});

test("a selection refuses unknown and repeated names", () => {
  const manage = defineManage({ plugin, operations: { read, write } });
  for (const name of ["erase", "toString", "__proto__"]) {
    expect(() => selectManageOperations(manage, ["read", name as "read"])).toThrow(
      expect.objectContaining({ code: "unknown_operation" }),
    );
  }
  expect(() => selectManageOperations(manage, ["read", "write", "read"])).toThrow(
    expect.objectContaining({ code: "duplicate_operation" }),
  );
});

test("an operation's error has a stable code of one form", () => {
  expect(new OperationError("note-missing", "no such note")).toMatchObject({ code: "note-missing" });
  expect(() => new OperationError("Note missing!", "no such note")).toThrow(TypeError);
});
