import { isPlainObject, type JsonValue } from "../../capability/index.ts";
import { placeOf } from "./place-of.ts";

/** Why a value is not plain JSON of the size. The message names the place and the rule, never the value. */
export class NotPlainJson extends Error {
  override readonly name = "NotPlainJson";
  readonly tooLarge: boolean;

  constructor(message: string, { tooLarge = false }: { readonly tooLarge?: boolean } = {}) {
    super(message);
    this.tooLarge = tooLarge;
  }
}

/** A fresh copy of a value that is plain JSON: what `JSON.stringify` would change or leave out is refused. @throws NotPlainJson */
export function plainJson(value: unknown, maxBytes: number): JsonValue {
  const tooLarge = () => new NotPlainJson(`$: more than ${maxBytes} bytes`, { tooLarge: true });
  let left = maxBytes;
  const copy = (node: unknown, path: readonly PropertyKey[]): JsonValue => {
    // A value takes a byte at least, so that something huge or shared is refused before all of it is copied.
    left -= typeof node === "string" ? node.length : 1;
    if (left < 0) throw tooLarge();
    if (node === null || typeof node === "boolean") return node;
    if (typeof node === "number" && Number.isFinite(node)) return node;
    if (typeof node === "string" && node.isWellFormed()) return node;
    if (typeof node !== "object") throw new NotPlainJson(`${placeOf(path)}: ${typeof node}, not JSON`);
    if (path.length >= maxDepth)
      throw new NotPlainJson(`${placeOf(path)}: a cycle, or nesting deeper than ${maxDepth}`);
    if (Array.isArray(node)) return Array.from(node, (each, index) => copy(each, [...path, index]));
    if (!isPlainObject(node)) throw new NotPlainJson(`${placeOf(path)}: not a plain object`);
    // `__proto__` stays an ordinary key.
    return Object.fromEntries(
      Object.entries(node).map(([key, each]) => {
        left -= key.length;
        if (!key.isWellFormed()) throw new NotPlainJson(`${placeOf(path)}: a key with a lone surrogate`);
        return [key, copy(each, [...path, key])];
      }),
    );
  };
  const json = copy(value, []);
  if (Buffer.byteLength(JSON.stringify(json)) > maxBytes) throw tooLarge();
  return json;
}

const maxDepth = 64;
