import type * as v from "valibot";
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
 * The quick way through a strict object schema, which nearly every call takes: a schema finds out what is wrong with a value, and that costs
 * five times as much as to see that nothing is. Undefined for a schema of which not every part is known here to look and not to change:
 * only required fields of plain values, and nothing that is asked of the object as a whole.
 */
export function exactRecord(schema: v.GenericSchema): ExactRecord | undefined {
  const {
    type,
    entries = {},
    pipe = [],
  } = schema as Part & { readonly entries?: Readonly<Record<string, Part>> };
  if (type !== "strict_object" || pipe.slice(1).some(({ kind }) => kind !== "metadata")) return undefined;
  const fields: { readonly key: string; readonly check: Check }[] = [];
  for (const [key, entry] of Object.entries(entries)) {
    const check = checkOf(entry);
    if (check === undefined) return undefined;
    fields.push({ key, check });
  }

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

/** A schema, or an action of a pipe. A pipe begins with what it was made of, which may be a pipe itself. */
interface Part {
  readonly kind: string;
  readonly type: string;
  readonly pipe?: readonly Part[];
}

/** Undefined when a part of it is none of the simple ones. */
function checkOf(part: Part): Check | undefined {
  if (part.pipe === undefined) return simpleChecks[part.type]?.(part);
  const checks: Check[] = [];
  for (const item of part.pipe) {
    if (item.kind === "metadata") continue;
    const check = checkOf(item);
    if (check === undefined) return undefined;
    checks.push(check);
  }
  const [only, ...others] = checks;
  return others.length === 0 ? only : (value) => checks.every((check) => check(value));
}

const simpleChecks: Readonly<Record<string, (part: object) => Check | undefined>> = {
  string: () => (value) => typeof value === "string",
  boolean: () => (value) => typeof value === "boolean",
  number: () => (value) => typeof value === "number" && !Number.isNaN(value),
  integer: () => Number.isInteger,
  custom: (part) => (part as { readonly check: Check }).check,
  literal: (part) => {
    const { literal } = part as { readonly literal: unknown };
    return (value) => value === literal;
  },
  picklist: (part) => {
    const { options } = part as { readonly options: readonly unknown[] };
    return (value) => options.includes(value);
  },
  nullable: (part) => {
    const { wrapped, default: instead } = part as { readonly wrapped: Part; readonly default?: unknown };
    const check = instead === undefined ? checkOf(wrapped) : undefined;
    return check && ((value) => value === null || check(value));
  },
  min_value: (part) => {
    const { requirement } = part as { readonly requirement: number };
    return (value) => (value as number) >= requirement;
  },
};
