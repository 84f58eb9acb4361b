/** Any value that JSON can hold. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. Keys such as `__proto__` and `constructor` are ordinary data. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}
