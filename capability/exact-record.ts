import * as v from "valibot";
import { isRootPrototype } from "./plain-object.ts";
import { inspectCustom } from "./redaction.ts";

/** Reads objects that are in order at once. What it does not answer for is not yet wrong: the schema decides, and says why. */
export interface ExactRecord {
  /** A copy of the object, each of its fields read once; undefined when the schema must look. @throws whatever a proxy throws */
  read(value: unknown): object | undefined;
  /** True when the object fits; false when the schema must look. */
  fits(value: unknown): boolean;
}

type Check = (value: unknown) => boolean;

/**
 * The quick way through a strict object schema of required fields, which nearly every call takes: a schema finds out what is wrong
 * with a value, and that costs five times as much as to see that nothing is. Undefined for schemas of another kind.
 */
export function exactRecord(schema: v.GenericSchema): ExactRecord | undefined {
  const { type, entries } = schema as { readonly type: string; readonly entries?: v.ObjectEntries };
  if (type !== "strict_object" || entries === undefined) return undefined;
  const fields = Object.entries(entries).map(([key, entry]) => ({ key, check: checkOf(entry) }));
  if (Object.values(entries).some((entry) => entry.type === "exact_optional" || entry.type === "optional"))
    return undefined;

  const hasExactlyTheFields = (value: unknown): value is Readonly<Record<string, unknown>> => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    const hidden = Object.hasOwn(value, inspectCustom) ? 1 : 0;
    if (Reflect.ownKeys(value).length !== fields.length + hidden) return false;
    if (Object.keys(value).length !== fields.length) return false;
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && !isRootPrototype(prototype)) return false;
    for (const { key } of fields) if (!Object.hasOwn(value, key)) return false;
    return true;
  };
  return {
    read(value) {
      if (!hasExactlyTheFields(value)) return undefined;
      const copy: Record<string, unknown> = {};
      for (const { key, check } of fields) {
        const field = value[key];
        if (!check(field)) return undefined;
        copy[key] = field;
      }
      return copy;
    },
    fits(value) {
      if (!hasExactlyTheFields(value)) return false;
      for (const { key, check } of fields) if (!check(value[key])) return false;
      return true;
    },
  };
}

/** The checks of an entry, those that describe it left out; by the schema itself where it is none of the simple ones. */
function checkOf(entry: v.ObjectEntries[string]): Check {
  const { pipe = [entry] } = entry as { readonly pipe?: readonly { kind: string; type: string }[] };
  const checks = pipe
    .filter(({ kind }) => kind !== "metadata")
    .map((item) => simpleChecks[item.type]?.(item));
  const simple = checks.filter((check) => check !== undefined);
  if (simple.length < checks.length) return (value) => v.is(entry, value);
  const [only, ...others] = simple as [Check, ...Check[]];
  return others.length === 0 ? only : (value) => simple.every((check) => check(value));
}

const simpleChecks: Readonly<Record<string, (item: object) => Check>> = {
  string: () => (value) => typeof value === "string",
  boolean: () => (value) => typeof value === "boolean",
  number: () => (value) => typeof value === "number" && !Number.isNaN(value),
  integer: () => Number.isInteger,
  custom: (item) => (item as { readonly check: Check }).check,
  literal: (item) => {
    const { literal } = item as { readonly literal: unknown };
    return (value) => value === literal;
  },
  min_value: (item) => {
    const { requirement } = item as { readonly requirement: number };
    return (value) => (value as number) >= requirement;
  },
};
