import { isRootPrototype } from "../../capability/index.ts";

/** Why a value is not portable JSON. `path` names the place, never the value. */
export class NotPortableJson extends Error {
  override readonly name = "NotPortableJson";
}

/** Deepest nesting of objects and arrays, the outermost one included. */
export const maxDepth = 64;

/**
 * The canonical JSON text of a plain value: keys sorted by UTF-16 code unit, −0 as 0, no white space. Two values mean the
 * same exactly when their texts are equal.
 *
 * Refuses what JSON or PostgreSQL cannot hold unchanged: undefined, functions, symbols, bigints, NaN and infinities,
 * integers beyond ±(2^53 − 1), class instances, accessors (never run), symbol keys, sparse arrays, cycles and nesting beyond 64,
 * U+0000 and lone surrogates in any key or string.
 *
 * @throws NotPortableJson
 */
export function canonicalJson(value: unknown): string {
  return write(value, "$", 1);
}

function write(value: unknown, path: string, depth: number): string {
  switch (typeof value) {
    case "string":
      return writeString(value, path);
    case "number":
      return writeNumber(value, path);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      if (depth > maxDepth) throw new NotPortableJson(`${path}: nesting deeper than ${maxDepth}`);
      return Array.isArray(value) ? writeArray(value, path, depth) : writeObject(value, path, depth);
    default:
      throw new NotPortableJson(`${path}: ${typeof value} is not JSON`);
  }
}

function writeString(text: string, path: string): string {
  if (!text.isWellFormed()) throw new NotPortableJson(`${path}: lone surrogate`);
  if (text.includes("\0")) throw new NotPortableJson(`${path}: U+0000`);
  return JSON.stringify(text);
}

function writeNumber(number: number, path: string): string {
  if (!Number.isFinite(number)) throw new NotPortableJson(`${path}: not a finite number`);
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new NotPortableJson(`${path}: integer beyond ±(2^53 − 1)`);
  }
  return number === 0 ? "0" : String(number);
}

function writeArray(array: readonly unknown[], path: string, depth: number): string {
  const own = Reflect.ownKeys(array);
  if (own.length !== array.length + 1) throw new NotPortableJson(`${path}: sparse array or extra property`);
  const parts = own.slice(0, -1).map((key, index) => {
    const place = `${path}[${index}]`;
    if (key !== String(index)) throw new NotPortableJson(`${path}: sparse array or extra property`);
    return write(dataOf(array, key, place), place, depth + 1);
  });
  return `[${parts.join(",")}]`;
}

function writeObject(object: object, path: string, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== null && !isRootPrototype(prototype)) {
    throw new NotPortableJson(`${path}: not a plain object`);
  }
  const keys = Reflect.ownKeys(object);
  const parts: string[] = [];
  for (const key of keys) if (typeof key !== "string") throw new NotPortableJson(`${path}: symbol key`);
  for (const key of (keys as string[]).sort()) {
    const place = `${path}.${/^[A-Za-z_][A-Za-z0-9_]{0,31}$/.test(key) ? key : "(key)"}`;
    parts.push(`${writeString(key, place)}:${write(dataOf(object, key, place), place, depth + 1)}`);
  }
  return `{${parts.join(",")}}`;
}

/** An own, enumerable data property; an accessor is refused unread. */
function dataOf(owner: object, key: string, path: string): unknown {
  const property = Object.getOwnPropertyDescriptor(owner, key);
  if (property?.enumerable !== true || !("value" in property)) {
    throw new NotPortableJson(`${path}: accessor or hidden property`);
  }
  return property.value;
}
