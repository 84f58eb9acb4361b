import { type PathTokens, refuse } from "./pointer-text.ts";
import { dataOf, plainKeys, refuseProxy } from "./read-plain.ts";

/** A member that has been read, with its place. */
export interface Member {
  readonly value: unknown;
  readonly at: PathTokens;
}

/**
 * The members of a plain object with closed keys. A key that may be left out has no member then, also when its value is undefined.
 *
 * @throws TypeError naming the place of a missing or further key, an accessor, or whatever is no plain object
 */
export function readRecord<Key extends string, Optional extends string = never>(
  { value, at }: Member,
  keys: readonly Key[],
  optional: readonly Optional[] = [],
): Readonly<Record<Key, Member> & Partial<Record<Optional, Member>>> {
  refuseProxy(value, () => at);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return refuse(at, "expected an object");
  const allowed = new Set<string>([...keys, ...optional]);
  const given = plainKeys(value, () => at);
  const unknown = given.find((key) => !allowed.has(key));
  if (unknown !== undefined) return refuse([...at, unknown], "no such key");
  const members = new Map<string, Member>();
  for (const key of allowed) {
    if (!given.includes(key) && optional.some((name) => name === key)) continue;
    const place = [...at, key];
    const member = dataOf(value, key, () => place);
    if (member !== undefined || !optional.some((name) => name === key))
      members.set(key, { value: member, at: place });
  }
  return Object.fromEntries(members) as Record<Key, Member> & Partial<Record<Optional, Member>>;
}

/** The members of a plain, dense array. @throws TypeError naming the place; a longer one is refused before it is looked at */
export function readList({ value, at }: Member, most: number): readonly Member[] {
  const place = (): PathTokens => at;
  refuseProxy(value, place);
  if (!Array.isArray(value)) return refuse(at, "expected an array");
  return plainKeys(value, place, most).map((key) => {
    const entry = [...at, key];
    return { value: dataOf(value, key, () => entry), at: entry };
  });
}

/** A well-formed text of 1..256 UTF-16 code units. @throws TypeError naming the place */
export function readIdentity({ value, at }: Member): string {
  if (typeof value !== "string") return refuse(at, "expected a text");
  if (value.length === 0 || value.length > 256)
    return refuse(at, `expected 1..256 characters, got ${value.length}`);
  return value.isWellFormed() ? value : refuse(at, "a lone surrogate");
}

/** An integer within bounds. @throws TypeError naming the place */
export function readInteger({ value, at }: Member, minimum: number, maximum: number): number {
  const fits = Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum;
  return fits && !Object.is(value, -0)
    ? (value as number)
    : refuse(at, `expected an integer ${minimum}..${maximum}`);
}
