import { types } from "node:util";
import { type PathTokens, refuse } from "./pointer-text.ts";

/**
 * The own keys of a plain object, or the indices of a dense array. Hidden properties under symbols, such as how an object prints, are left
 * out; any other property that JSON would not say is refused.
 *
 * @param room most members; a longer list is refused before it is looked at
 * @throws TypeError for a proxy, an exotic prototype, a symbol key, a hole, or an array with further properties
 */
export function plainKeys(
  source: object,
  place: () => PathTokens,
  room: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  refuseProxy(source, place);
  const keys = Array.isArray(source) ? indicesOf(source, place, room) : ownKeys(source, place);
  return keys.length > room ? refuse(place(), `more than ${room} members`) : keys;
}

/** Comes before anything that looks at an object: a proxy's traps are the caller's code, and may never return. @throws TypeError */
export function refuseProxy(value: unknown, place: () => PathTokens): void {
  if (types.isProxy(value)) refuse(place(), "a proxy");
}

/** The value of an own, enumerable data property. @throws TypeError for any other; an accessor is not read */
export function dataOf(owner: object, key: string, place: () => PathTokens): unknown {
  const property = Object.getOwnPropertyDescriptor(owner, key);
  if (property === undefined) return refuse(place(), "missing");
  if (!("value" in property)) return refuse(place(), "an accessor");
  return property.enumerable === true ? property.value : refuse(place(), "a hidden property");
}

function ownKeys(object: object, place: () => PathTokens): readonly string[] {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return refuse(place(), "not a plain object");
  return namedKeys(object, place);
}

function indicesOf(array: readonly unknown[], place: () => PathTokens, room: number): readonly string[] {
  if (Object.getPrototypeOf(array) !== Array.prototype) return refuse(place(), "not a plain array");
  if (array.length > room) return refuse(place(), `more than ${room} members`);
  const keys = namedKeys(array, place).filter((key) => key !== "length");
  // The engine lists indices first and in order, so a hole or a name shows as the first key that is not its index.
  const wrong = keys.findIndex((key, index) => key !== String(index));
  return keys.length === array.length && wrong === -1
    ? keys
    : refuse(place(), "a sparse array, or one with further properties");
}

function namedKeys(object: object, place: () => PathTokens): string[] {
  const keys = Reflect.ownKeys(object);
  const named = keys.filter((key) => typeof key === "string");
  const symbols = keys.length > named.length ? keys.filter((key) => typeof key === "symbol") : [];
  if (symbols.some((key) => Object.prototype.propertyIsEnumerable.call(object, key)))
    return refuse(place(), "a key that is a symbol");
  return named;
}
