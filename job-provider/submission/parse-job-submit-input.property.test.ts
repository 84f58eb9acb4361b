import { expect, test } from "bun:test";
import fc from "fast-check";
import * as v from "valibot";
import { refusalOf } from "../testing/refusal-of.ts";
import { at, digestWith, validSubmission } from "../testing/valid-submission.ts";
import { parseJobSubmitInput } from "./parse-job-submit-input.ts";

// The contract once more, by other means: a schema, one positive expression for paths, and the list of all pointers into a value.
const identity = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(256),
  v.check((text) => text.isWellFormed()),
);
const digest = v.pipe(v.string(), v.regex(/^sha256:[0-9a-f]{64}$/));
const path = v.pipe(
  v.string(),
  v.maxLength(4096),
  v.regex(/^(?!\/[A-Za-z][\w+.-]*:)(?:\/(?!\.{1,2}(?:\/|$))[^/\\*?[\]\p{Cc}\p{Cs}]+)+$/u),
);
const unique = v.check((list: string[]) => new Set(list).size === list.length);
const oracle = v.strictObject({
  provider: v.strictObject({ id: identity, version: identity, manifestDigest: digest }),
  input: v.strictObject({
    revision: v.strictObject({
      authorityId: identity,
      workspaceId: identity,
      revisionId: identity,
      treeDigest: digest,
    }),
    paths: v.pipe(v.array(path), unique),
  }),
  configuration: v.pipe(
    v.strictObject({
      value: v.custom(isJson),
      explicitPointers: v.pipe(v.array(v.string()), unique),
      expectedEffectiveDigest: v.optional(digest),
    }),
    v.check(({ value, explicitPointers }) => {
      const present = new Set(pointersInto(value));
      return explicitPointers.every(
        (pointer) => present.has(pointer) && !/\/(__proto__|constructor|prototype)(\/|$)/.test(pointer),
      );
    }),
  ),
  submissionKey: identity,
  signal: v.optional(v.instance(AbortSignal)),
});

function isJson(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object") return typeof value === "boolean";
  if (value === null) return true;
  if (value instanceof AbortSignal) return false;
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isJson(member));
}

function pointersInto(value: unknown, start = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [start];
  const members = Object.entries(value).flatMap(([key, member]) =>
    pointersInto(member, `${start}/${key.split("~").join("~0").split("/").join("~1")}`),
  );
  return [start, ...members];
}

const name = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 8 }),
  fc.constantFrom("", "\uD800", "x".repeat(256), "x".repeat(257), "x"),
);
const someDigest = fc.constantFrom(digestWith("a"), digestWith("0"), digestWith("G"), "sha256:", "");
const segment = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-z0-9 .:~-]{1,6}$/) },
  { weight: 1, arbitrary: fc.constantFrom("", ".", "..", "a*", "C:", "a\\b", "\n", "[x]", "http:") },
);
const somePath = fc
  .tuple(fc.constantFrom("/", "/", "/", "/", ""), fc.array(segment, { minLength: 1, maxLength: 3 }))
  .map(([root, segments]) => root + segments.join("/"));
const key = fc.oneof(
  fc.constantFrom("a", "b", "0", "a/b", "~", "constructor", ""),
  fc.string({ maxLength: 3 }),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    fc.oneof(fc.integer(), fc.string({ maxLength: 4 }), fc.boolean(), fc.constant(null)),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(key, tie("any"), { maxKeys: 3 }),
  ),
})).any;
const junk = fc.oneof(
  name,
  someDigest,
  somePath,
  value,
  fc.constantFrom(undefined, Number.NaN, -0, 1n, {}, [], [undefined], new AbortController().signal),
);

const configuration = value.chain((chosen) =>
  fc.record(
    {
      value: fc.constant(chosen),
      explicitPointers: fc.oneof(
        { weight: 4, arbitrary: fc.subarray([...pointersInto(chosen)]) },
        { weight: 1, arbitrary: fc.array(fc.oneof(name, fc.constantFrom("/a", "/0", "/b/0", "/-", "/01"))) },
      ),
      expectedEffectiveDigest: fc.constant(digestWith("c")),
    },
    { requiredKeys: ["value", "explicitPointers"] },
  ),
);
const submission = fc
  .record({ paths: fc.array(somePath, { maxLength: 3 }), configuration, mutate: fc.boolean() })
  .map(({ paths, configuration: chosen, mutate }) => {
    const root = validSubmission();
    at(root, "input").paths = paths;
    return { root: Object.assign(root, { configuration: chosen }), mutate };
  });
/** Sets, removes or adds one member anywhere. */
const mutated = fc
  .tuple(submission, fc.nat(), junk, fc.constantFrom("set", "remove", "add"))
  .map(([{ root, mutate }, choice, replacement, how]) => {
    if (!mutate) return root;
    const places = objectsIn(root).flatMap((owner) =>
      Object.keys(owner).map((member) => ({ owner, member })),
    );
    const { owner, member } = places[choice % places.length]!;
    if (how === "remove") Reflect.deleteProperty(owner, member);
    else Object.assign(owner, { [how === "add" ? "further" : member]: replacement });
    return root;
  });

test("a submission is accepted exactly when the contract allows it, and comes back equal", () => {
  const seen = { accepted: 0, refused: 0 };
  fc.assert(
    fc.property(mutated, (given) => {
      const expected = isDense(given) && v.is(oracle, given);
      seen[expected ? "accepted" : "refused"] += 1;
      if (expected) expect<unknown>(parseJobSubmitInput(given)).toEqual(given);
      else expect(() => parseJobSubmitInput(given)).toThrow(TypeError);
    }),
    { numRuns: 1500 },
  );
  expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(150);
});

/** A removed array member leaves a hole, which the schema cannot see. */
function isDense(root: unknown): boolean {
  return objectsIn(root).every(
    (object) => !Array.isArray(object) || Object.keys(object).length === object.length,
  );
}

test("whatever a hostile object does, there is a TypeError and none of its code runs", () => {
  let runs = 0;
  const run = (): never => {
    runs += 1;
    throw new Error("ran");
  };
  const trap = new Proxy({}, { get: () => run });
  const hostile: readonly ((value: unknown) => PropertyDescriptor)[] = [
    () => ({ get: run, enumerable: true }),
    () => ({ set: run, enumerable: true }),
    (member) => ({ value: member, enumerable: false }),
    (member) => ({ value: new Proxy(Object(member) as object, trap), enumerable: true }),
    (member) => ({ value: Object.create(Object(member) as object) as unknown, enumerable: true }),
    (member) => ({
      value: Object.create(new Proxy(Object(member) as object, trap)) as unknown,
      enumerable: true,
    }),
    () => ({ value: { [Symbol.toPrimitive]: run, toJSON: run }, enumerable: true }),
    () => ({ value: run, enumerable: true }),
  ];
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(...hostile), (choice, make) => {
      const root = validSubmission();
      const places = objectsIn(root).flatMap((owner) =>
        Object.keys(owner).map((member) => ({ owner, member })),
      );
      const { owner, member } = places[choice % places.length]!;
      Object.defineProperty(owner, member, make(Reflect.get(owner, member)));
      expect(() => parseJobSubmitInput(root)).toThrow(TypeError);
    }),
    { numRuns: 500 },
  );
  const { proxy, revoke } = Proxy.revocable<object>({}, trap);
  revoke();
  for (const value of [new Proxy(validSubmission(), trap), new Proxy([], trap), proxy])
    expect(refusalOf(() => parseJobSubmitInput(value))).toBe("the value: a proxy");
  expect(runs).toBe(0);
});

function objectsIn(root: unknown): readonly object[] {
  if (typeof root !== "object" || root === null) return [];
  return [root, ...Object.values(root).flatMap(objectsIn)];
}
