import { types } from "node:util";
import type { JsonValue } from "../capability/index.ts";

/** Most bytes of a task's input, as UTF-8 of compact JSON. */
export const INPUT_LIMIT_BYTES = 65_536;
/** Most bytes of a task's result, as UTF-8 of compact JSON. */
export const RESULT_LIMIT_BYTES = 16_384;

export interface JsonLimits {
  readonly bytes: number;
  /** Deepest nesting of objects and arrays, the outermost one included. */
  readonly depth: number;
}

export const inputLimits: JsonLimits = { bytes: INPUT_LIMIT_BYTES, depth: 32 };
export const resultLimits: JsonLimits = { bytes: RESULT_LIMIT_BYTES, depth: 32 };

/** Why a value is not plain JSON. The message names the place and the rule, never the value. */
export class NotPlainJson extends Error {
  override readonly name = "NotPlainJson";
}

/**
 * A fresh copy of a value that is plain JSON within the limits, with −0 as 0. Accessors and proxies are refused unread, so that
 * looking at a value never runs its code.
 *
 * @throws NotPlainJson
 */
export function copyPlainJson(value: unknown, limits: JsonLimits): JsonValue {
  const copy = copyValue(value, "$", 1, { limits, bytesLeft: limits.bytes });
  const bytes = Buffer.byteLength(JSON.stringify(copy));
  if (bytes > limits.bytes) throw new NotPlainJson(`$: ${bytes} bytes, at most ${limits.bytes} are allowed`);
  return copy;
}

/** One text for all spellings of a JSON value: keys sorted by UTF-16 code unit, −0 as 0, no white space. */
export function canonicalJsonText(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJsonText).join(",")}]`;
  const object = value as { readonly [key: string]: JsonValue };
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJsonText(object[key] as JsonValue)}`);
  return `{${members.join(",")}}`;
}

/** A lower bound of the size is kept while copying, so that a huge or shared structure is refused before it is copied. */
interface Budget {
  readonly limits: JsonLimits;
  bytesLeft: number;
}

function copyValue(value: unknown, path: string, depth: number, budget: Budget): JsonValue {
  switch (typeof value) {
    case "string":
      return checkedText(value, path, budget);
    case "number":
      if (!Number.isFinite(value)) throw new NotPlainJson(`${path}: not a finite number`);
      spend(budget, 1, path);
      return value === 0 ? 0 : value;
    case "boolean":
      spend(budget, 4, path);
      return value;
    case "object":
      spend(budget, 2, path);
      return value === null ? null : copyContainer(value, path, depth, budget);
    default:
      throw new NotPlainJson(`${path}: ${typeof value} is not JSON`);
  }
}

function copyContainer(value: object, path: string, depth: number, budget: Budget): JsonValue {
  if (types.isProxy(value)) throw new NotPlainJson(`${path}: a proxy`);
  if (depth > budget.limits.depth)
    throw new NotPlainJson(`${path}: a cycle, or nesting deeper than ${budget.limits.depth}`);
  return Array.isArray(value)
    ? copyArray(value, path, depth, budget)
    : copyObject(value, path, depth, budget);
}

function copyArray(array: readonly unknown[], path: string, depth: number, budget: Budget): JsonValue {
  if (Object.getPrototypeOf(array) !== Array.prototype) throw new NotPlainJson(`${path}: not a plain array`);
  spend(budget, array.length, path);
  const keys = Reflect.ownKeys(array);
  if (keys.length !== array.length + 1)
    throw new NotPlainJson(`${path}: a sparse array, or one with further properties`);
  return keys.slice(0, -1).map((key, index) => {
    const place = `${path}[${index}]`;
    if (key !== String(index))
      throw new NotPlainJson(`${path}: a sparse array, or one with further properties`);
    return copyValue(dataOf(array, key, place), place, depth + 1, budget);
  });
}

function copyObject(object: object, path: string, depth: number, budget: Budget): JsonValue {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null)
    throw new NotPlainJson(`${path}: not a plain object`);
  const entries = Reflect.ownKeys(object).map((key): [string, JsonValue] => {
    if (typeof key === "symbol") throw new NotPlainJson(`${path}: a symbol key`);
    const place = `${path}.${shownKey(key)}`;
    const name = checkedText(key, place, budget);
    return [name, copyValue(dataOf(object, key, place), place, depth + 1, budget)];
  });
  return Object.fromEntries(entries); // `__proto__` stays an ordinary key
}

/** An own, enumerable data property; an accessor is refused unread. */
function dataOf(owner: object, key: string, path: string): unknown {
  const property = Object.getOwnPropertyDescriptor(owner, key);
  if (property?.enumerable !== true || !("value" in property))
    throw new NotPlainJson(`${path}: an accessor or a hidden property`);
  return property.value;
}

function checkedText(text: string, path: string, budget: Budget): string {
  spend(budget, text.length, path);
  if (!text.isWellFormed()) throw new NotPlainJson(`${path}: a lone surrogate`);
  if (text.includes("\0")) throw new NotPlainJson(`${path}: U+0000`);
  return text;
}

function spend(budget: Budget, bytes: number, path: string): void {
  budget.bytesLeft -= bytes;
  if (budget.bytesLeft < 0)
    throw new NotPlainJson(`${path}: more than the ${budget.limits.bytes} bytes that are allowed`);
}

/** A key that looks like a field's name; any other may be somebody's data and stays out of messages. */
export function shownKey(key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]{0,31}$/.test(key) ? key : "(key)";
}
