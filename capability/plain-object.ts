import { inspectCustom } from "./redaction.ts";

/**
 * True for an object as JSON makes one: no array or class instance, of whichever realm, and nothing in it hidden or keyed by a
 * symbol, but for how it prints. Reads no value. @throws whatever a proxy throws
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && !isRootPrototype(prototype)) return false;
  return Reflect.ownKeys(value).every(
    (key) =>
      key === inspectCustom ||
      (typeof key === "string" && Object.prototype.propertyIsEnumerable.call(value, key)),
  );
}

/** `Object.prototype` of this realm or of another one, where another JSON.parse ran. */
export function isRootPrototype(prototype: unknown): boolean {
  return (
    prototype === Object.prototype ||
    (typeof prototype === "object" &&
      prototype !== null &&
      Object.getPrototypeOf(prototype) === null &&
      Object.hasOwn(prototype, "hasOwnProperty"))
  );
}
