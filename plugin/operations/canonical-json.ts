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
 * A text of more than `maxLength` UTF-16 code units is refused as soon as it is that long, so the size of a value costs no more than
 * its limit. No text has fewer bytes of UTF-8 than code units. Default: no limit.
 *
 * @throws NotPortableJson
 */
export function canonicalJson(value: unknown, maxLength: number = Number.POSITIVE_INFINITY): string {
  const text = write(value, root, 1, maxLength);
  if (text.length > maxLength) throw tooLong(root);
  return text;
}

/** Where a value stands. Written out only when something is wrong with it. */
interface Place {
  readonly parent: Place | undefined;
  readonly step: string | number;
}

const root: Place = { parent: undefined, step: "$" };

/** May answer a number that is longer than `room`: whoever appends it notices. */
function write(value: unknown, place: Place, depth: number, room: number): string {
  switch (typeof value) {
    case "string":
      return writeString(value, place, room);
    case "number":
      return writeNumber(value, place);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      if (depth > maxDepth) throw notPortable(place, `nesting deeper than ${maxDepth}`);
      return Array.isArray(value)
        ? writeArray(value, place, depth, room)
        : writeObject(value, place, depth, room);
    default:
      throw notPortable(place, `${typeof value} is not JSON`);
  }
}

function writeString(text: string, place: Place, room: number): string {
  if (text.length + 2 > room) throw tooLong(place);
  if (!text.isWellFormed()) throw notPortable(place, "lone surrogate");
  if (text.includes("\0")) throw notPortable(place, "U+0000");
  return JSON.stringify(text);
}

function writeNumber(number: number, place: Place): string {
  if (!Number.isFinite(number)) throw notPortable(place, "not a finite number");
  if (Number.isInteger(number) && !Number.isSafeInteger(number))
    throw notPortable(place, "integer beyond ±(2^53 − 1)");
  return number === 0 ? "0" : String(number);
}

function writeArray(array: readonly unknown[], place: Place, depth: number, room: number): string {
  // Each element has a character at least, and each but the first a comma. Known before the keys are, which cost the most.
  if (2 * array.length + 1 > room) throw tooLong(place);
  const own = Reflect.ownKeys(array);
  if (own.length !== array.length + 1) throw notPortable(place, "sparse array or extra property");
  let text = "[";
  for (let index = 0; index < own.length - 1; index += 1) {
    const key = own[index];
    if (key !== String(index)) throw notPortable(place, "sparse array or extra property");
    const element = { parent: place, step: index };
    if (index > 0) text += ",";
    text += write(dataOf(array, key, element), element, depth + 1, room - text.length);
    if (text.length > room) throw tooLong(place);
  }
  return `${text}]`;
}

function writeObject(object: object, place: Place, depth: number, room: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== null && !isRootPrototype(prototype)) throw notPortable(place, "not a plain object");
  const keys = Reflect.ownKeys(object);
  // Of each member two quotes, a colon and a character of its value, and of each but the first a comma.
  if (5 * keys.length + 1 > room) throw tooLong(place);
  for (const key of keys) if (typeof key !== "string") throw notPortable(place, "symbol key");
  let text = "{";
  for (const key of (keys as string[]).sort()) {
    const member = { parent: place, step: key };
    if (text.length > 1) text += ",";
    text += `${writeString(key, member, room)}:`;
    text += write(dataOf(object, key, member), member, depth + 1, room - text.length);
    if (text.length > room) throw tooLong(place);
  }
  return `${text}}`;
}

/** An own, enumerable data property; an accessor is refused unread. */
function dataOf(owner: object, key: string, place: Place): unknown {
  const property = Object.getOwnPropertyDescriptor(owner, key);
  if (property?.enumerable !== true || !("value" in property))
    throw notPortable(place, "accessor or hidden property");
  return property.value;
}

function tooLong(place: Place): NotPortableJson {
  return notPortable(place, "longer than the limit");
}

function notPortable(place: Place, reason: string): NotPortableJson {
  let path = "";
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) path = nameOf(at) + path;
  return new NotPortableJson(`${path}: ${reason}`);
}

/** A key that is no plain name may be data. */
function nameOf({ parent, step }: Place): string {
  if (parent === undefined) return String(step);
  if (typeof step === "number") return `[${step}]`;
  return /^[A-Za-z_][A-Za-z0-9_]{0,31}$/.test(step) ? `.${step}` : ".(key)";
}
