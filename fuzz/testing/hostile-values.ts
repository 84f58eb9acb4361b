import * as fc from "fast-check";
import { canary } from "./fuzz-target.ts";

/** Texts that have meant something to some program: SQL, paths, prototypes, controls, halves of characters, too much. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    `${canary}!`,
    `postgres://user:${canary}@db.internal:5432/app`,
    `password=${canary}`,
    "'; drop schema jobs cascade; --",
    '"; select pg_sleep(60); --',
    "$1",
    "%s%n",
    "__proto__",
    "constructor",
    "toString",
    "",
    " ",
    ".",
    "..",
    "../../etc/passwd",
    "a/../b",
    "a//b",
    "/a",
    "a/",
    "pg_catalog",
    "public",
    "information_schema",
    "jobs",
    "mail",
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\udc00a",
    "\u202e",
    "é",
    "e\u0301",
    "İ",
    "null",
    "NaN",
    "-0",
    "1e999",
    "2026-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "infinity",
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ maxLength: 300 }),
  fc.integer({ min: 60, max: 400 }).map((length) => "a".repeat(length)),
);

/** The same for the place of a name, which messages repeat: no secret is a key or an operation. */
export const hostileName: fc.Arbitrary<string> = hostileText.filter((text) => !text.includes(canary));

/** One of the characters of a text. */
export function characterOf(text: string): fc.Arbitrary<string> {
  return fc.constantFrom(...text.split(""));
}

/** What is nearly a name: of the alphabet that names have, and of lengths that may be one too many. */
export const nearlyName: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: characterOf("aZ09._-:/"), maxLength: 6 }),
  fc.string({ unit: characterOf("aZ0.:/ é\n"), maxLength: 4 }),
  fc.constantFrom(127, 128, 129, 255, 256, 257).map((length) => "n".repeat(length)),
);

/** What is nearly the name of a schema. */
export const nearlySchema: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: characterOf("az09_"), maxLength: 66 }),
  fc.string({ unit: characterOf("az_A-é"), maxLength: 4 }),
);

/** Any value that a program can hold: odd numbers, dates, maps, sparse arrays, null prototypes, and things that throw when read. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  {
    weight: 6,
    arbitrary: fc.anything({
      key: hostileName,
      maxDepth: 3,
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      values: [hostileText, fc.double(), fc.maxSafeInteger(), fc.boolean(), fc.constant(undefined)],
    }),
  },
  { weight: 1, arbitrary: fc.nat(7).map((index) => new Trap(index)) },
);

/** A record of these keys with some left out, some of any value, and now and then a key too many. */
export function almost(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> {
  const entries = Object.entries(fields).map(([key, good]) =>
    fc.oneof(
      { weight: 12, arbitrary: good.map((value): Pairs => [[key, value]]) },
      { weight: 2, arbitrary: hostileValue.map((value): Pairs => [[key, value]]) },
      { weight: 1, arbitrary: fc.constant<Pairs>([]) },
    ),
  );
  const extra = fc.oneof(
    { weight: 9, arbitrary: fc.constant<Pairs>([]) },
    { weight: 1, arbitrary: fc.tuple(hostileName, hostileValue).map((pair): Pairs => [pair]) },
  );
  return fc.tuple(...entries, extra).map((parts) => asRecord(Object.fromEntries(parts.flat())));
}

/** A record with these fields as they should be, but for one: of any value or what `wrong` has for it, left out, or one too many. */
export function oneWrong(
  fields: Readonly<Record<string, fc.Arbitrary<unknown>>>,
  wrong: Readonly<Record<string, fc.Arbitrary<unknown>>> = {},
): fc.Arbitrary<unknown> {
  const keys = Object.keys(fields);
  const valued = keys.map((key) =>
    fc
      .oneof({ weight: 3, arbitrary: wrong[key] ?? hostileValue }, { weight: 1, arbitrary: hostileValue })
      .map((value): Fault => ({ key, value })),
  );
  const fault: fc.Arbitrary<Fault> = fc.oneof(
    { weight: 18, arbitrary: fc.oneof(...valued) },
    { weight: 1, arbitrary: fc.constantFrom(...keys).map((key): Fault => ({ key })) },
    { weight: 1, arbitrary: fc.record({ key: hostileName, value: hostileValue }) },
  );
  return fc.tuple(fc.record(fields), fault).map(([record, { key, ...given }]) => {
    const { [key]: _, ...others } = record;
    return asRecord(
      "value" in given ? Object.fromEntries([...Object.entries(others), [key, given.value]]) : others,
    );
  });
}

interface Fault {
  readonly key: string;
  /** None: the key is left out. */
  readonly value?: unknown;
}

/** Makes {@link armed} look into the record too. */
export function asRecord(record: object): object {
  records.add(record);
  return record;
}

type Pairs = readonly (readonly [string, unknown])[];

/** The value as it is to be used: the generator can't hold what throws when it is looked at, so that is put in here. */
export function armed(value: unknown): unknown {
  if (value instanceof Trap) return thingsThatThrow[value.index]?.();
  if (typeof value !== "object" || value === null || !records.has(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, armed(member)]));
}

class Trap {
  readonly index: number;
  constructor(index: number) {
    this.index = index;
  }
}

/** What {@link asRecord} was given, whose members may be traps. */
const records = new WeakSet<object>();

const throwing = (): never => {
  throw new Error(canary);
};

const thingsThatThrow: readonly (() => unknown)[] = [
  () => new Proxy({}, { get: throwing, ownKeys: throwing, getPrototypeOf: throwing, has: throwing }),
  () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  () => Object.defineProperty({}, "queue", { get: throwing, enumerable: true }),
  () => ({ toJSON: throwing }),
  () => ({ toString: throwing }),
  () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    return cyclic;
  },
  () =>
    new (class Own {
      secret = canary;
    })(),
  () => throwing,
];
