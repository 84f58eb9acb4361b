import { expect, test } from "bun:test";
import { refusalOf } from "../testing/refusal-of.ts";
import { at, digestWith, submissionWith, validSubmission } from "../testing/valid-submission.ts";
import type { JobSubmitInput } from "./job-submit-input.ts";
import { parseJobSubmitInput } from "./parse-job-submit-input.ts";
import { requestDigest } from "./request-digest.ts";

test("a valid submission comes back equal, frozen at every level, and shares nothing", () => {
  const given = validSubmission();
  const parsed = parseJobSubmitInput(given);
  expect(parsed).toEqual(validSubmission() as unknown as JobSubmitInput);
  for (const object of objectsIn(parsed)) expect(Object.isFrozen(object)).toBe(true);
  at(given, "provider").id = "other";
  at(given, "input", "paths")[0] = "/other";
  at(given, "configuration", "value", "list", 0)["a/b"] = "changed";
  at(given, "configuration", "explicitPointers")[0] = "/nothing";
  expect(parsed).toEqual(validSubmission() as unknown as JobSubmitInput);
});

test("paths and pointers may be empty, and what is optional may be absent or undefined", () => {
  const given = validSubmission();
  at(given, "input").paths = [];
  at(given, "configuration").explicitPointers = [];
  delete at(given, "configuration").expectedEffectiveDigest;
  expect(parseJobSubmitInput(given).configuration).not.toHaveProperty("expectedEffectiveDigest");
  at(given, "configuration").expectedEffectiveDigest = undefined;
  at(given).signal = undefined;
  const parsed = parseJobSubmitInput(given);
  expect(parsed.configuration).not.toHaveProperty("expectedEffectiveDigest");
  expect(parsed).not.toHaveProperty("signal");
});

test("an object without a prototype is as good as any", () => {
  const bare = Object.assign(Object.create(null) as object, validSubmission());
  expect(parseJobSubmitInput(bare).submissionKey).toBe("order-17/mesh");
});

test("a signal is kept as it is, not frozen, and also when it has aborted", () => {
  const controller = new AbortController();
  const { signal } = parseJobSubmitInput(submissionWith("signal", controller.signal));
  expect(signal).toBe(controller.signal);
  expect(Object.isFrozen(signal)).toBe(false);
  controller.abort();
  expect(parseJobSubmitInput(submissionWith("signal", controller.signal)).signal?.aborted).toBe(true);
});

test.each([
  ["null", null],
  ["an object", {}],
  ["a look-alike", { aborted: false, addEventListener: () => {} }],
  ["an object that claims the prototype", Object.create(AbortSignal.prototype)],
  ["the controller", new AbortController()],
])("%s is no signal", (_what, signal) => {
  expect(refusalOf(() => parseJobSubmitInput(submissionWith("signal", signal)))).toBe(
    "/signal: expected an AbortSignal",
  );
});

const identities = [
  "provider.id",
  "provider.version",
  "input.revision.authorityId",
  "input.revision.workspaceId",
  "input.revision.revisionId",
  "submissionKey",
];
const digests = [
  "provider.manifestDigest",
  "input.revision.treeDigest",
  "configuration.expectedEffectiveDigest",
];
const pointerOf = (path: string): string => `/${path.replaceAll(".", "/")}`;

test.each(identities)("%s is a well-formed text of 1..256", (path) => {
  for (const fine of ["x", "\u{1F600}".repeat(128), " ", "a".repeat(256)])
    expect(() => parseJobSubmitInput(submissionWith(path, fine))).not.toThrow();
  for (const wrong of ["", "a".repeat(257), "\uD83D", 1, null, undefined, ["a"], new String("a")])
    expect(refusalOf(() => parseJobSubmitInput(submissionWith(path, wrong)))).toStartWith(
      `${pointerOf(path)}: `,
    );
});

test.each(digests)("%s is sha256: and 64 lowercase hexadecimal digits", (path) => {
  expect(() => parseJobSubmitInput(submissionWith(path, digestWith("0")))).not.toThrow();
  const wrong = [digestWith("A"), digestWith("g"), digestWith("a").slice(0, -1), `${digestWith("a")}\n`];
  for (const value of [...wrong, "a".repeat(64), `sha512:${"a".repeat(64)}`, 1, null])
    expect(refusalOf(() => parseJobSubmitInput(submissionWith(path, value)))).toStartWith(
      `${pointerOf(path)}: expected sha256:`,
    );
});

test.each([
  ["input.paths", ["/a", "/b", "/a"], "/input/paths/2: the same path stands twice"],
  ["input.paths", ["/a", "b"], "/input/paths/1: a path that does not start at the root"],
  ["input.paths", ["/a", 3], "/input/paths/1: expected a text"],
  ["input.paths", "/a", "/input/paths: expected an array"],
  ["input.paths", Object.assign([], { length: 1 }), "/input/paths: a sparse array"],
  ["input.paths", Object.assign([], { length: 4_000_000_000 }), "/input/paths: more than 10000 members"],
  ["configuration.value", { a: Number.NaN }, "/configuration/value/a: NaN"],
  ["configuration.value", undefined, "/configuration/value: undefined"],
  ["configuration.explicitPointers", ["a"], "/configuration/explicitPointers/0: not a JSON pointer"],
  ["configuration.explicitPointers", ["/~2"], "/configuration/explicitPointers/0: not a JSON pointer"],
  ["configuration.explicitPointers", ["/cells~"], "/configuration/explicitPointers/0: not a JSON pointer"],
  ["configuration.explicitPointers", [1], "/configuration/explicitPointers/0: expected a text"],
  ["configuration.explicitPointers", ["/cells", "/cells"], "/configuration/explicitPointers/1: the same"],
  ["configuration.explicitPointers", ["/none"], "/configuration/explicitPointers/0: the pointer leads to"],
  ["configuration.explicitPointers", ["/cells/0"], "/configuration/explicitPointers/0: the pointer leads"],
  ["configuration.explicitPointers", ["/list/1"], "/configuration/explicitPointers/0: the pointer leads to"],
  ["configuration.explicitPointers", ["/list/-"], "/configuration/explicitPointers/0: the pointer leads to"],
  ["configuration.explicitPointers", ["/list/00"], "/configuration/explicitPointers/0: the pointer leads"],
  ["configuration.explicitPointers", ["/list/length"], "/configuration/explicitPointers/0: the pointer"],
  ["configuration.explicitPointers", ["/toString"], "/configuration/explicitPointers/0: the pointer leads"],
  ["configuration.explicitPointers", ["/__proto__"], "/configuration/explicitPointers/0: a pointer may not"],
  ["provider", null, "/provider: expected an object"],
  ["provider", [], "/provider: expected an object"],
  ["input", "x", "/input: expected an object"],
  ["input.revision", new (class {})(), "/input/revision: not a plain object"],
  ["more", 1, "/more: no such key"],
  ["provider.name", 1, "/provider/name: no such key"],
  ["input.files", 1, "/input/files: no such key"],
  ["input.revision.branch", 1, "/input/revision/branch: no such key"],
  ["configuration.defaults", undefined, "/configuration/defaults: no such key"],
])("%s is refused with its place (case %#)", (path, value, message) => {
  expect(refusalOf(() => parseJobSubmitInput(submissionWith(path, value)))).toStartWith(message);
});

test.each([[undefined], [null], [1], ["text"], [[]], [() => 1], [Symbol("s")], [1n]])(
  "case %#: what is no object is no submission",
  (value) => {
    expect(refusalOf(() => parseJobSubmitInput(value))).toStartWith("the value: expected an object");
  },
);

test.each(["provider", "input", "configuration", "submissionKey"])("%s may not be left out", (key) => {
  const { [key]: _left, ...rest } = validSubmission();
  expect(refusalOf(() => parseJobSubmitInput(rest))).toBe(`/${key}: missing`);
  const inherited: unknown = Object.assign(Object.create(null) as object, rest);
  expect(refusalOf(() => parseJobSubmitInput(inherited))).toBe(`/${key}: missing`);
});

test.each(["__proto__", "constructor", "prototype"])(
  "%s is data in a configuration, and no pointer may name it at any depth",
  (key) => {
    const value: unknown = JSON.parse(`{"a":{${JSON.stringify(key)}:{"b":1}}}`);
    const given = (pointers: readonly string[]): unknown => {
      const root = validSubmission();
      Object.assign(at(root, "configuration"), { value, explicitPointers: pointers });
      return root;
    };
    expect(JSON.stringify(parseJobSubmitInput(given(["/a"])).configuration.value)).toBe(
      JSON.stringify(value),
    );
    expect(refusalOf(() => parseJobSubmitInput(given([`/a/${key}/b`])))).toContain("may not name");
  },
);

test("lists are taken up to their length, and not beyond", () => {
  const names = Array.from({ length: 10_001 }, (_, index) => `/k${index}`);
  const members = Object.fromEntries(names.map((name) => [name.slice(1), 0]));
  const given = validSubmission();
  Object.assign(at(given, "input"), { paths: names.slice(1) });
  Object.assign(at(given, "configuration"), { value: members, explicitPointers: names.slice(1) });
  expect(parseJobSubmitInput(given).input.paths).toHaveLength(10_000);
  at(given, "input").paths = names;
  expect(refusalOf(() => parseJobSubmitInput(given))).toBe("/input/paths: more than 10000 members");
  at(given, "input").paths = [];
  at(given, "configuration").explicitPointers = names;
  expect(refusalOf(() => parseJobSubmitInput(given))).toContain("/explicitPointers: more than 10000 members");
});

const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
const mebi = 1_048_576;
const filled = (length: number, value: unknown): readonly unknown[] => Array.from({ length }, () => value);

test.each([
  ["depth", nested(128), nested(129)],
  ["values", filled(99_999, 0), filled(100_000, 0)],
  ["the length of a text", ["x".repeat(mebi)], ["x".repeat(mebi + 1)]],
  ["the length of a key", { ["x".repeat(mebi)]: 1 }, { ["x".repeat(mebi + 1)]: 1 }],
  ["all texts together", filled(4, "x".repeat(mebi)), [...filled(4, "x".repeat(mebi)), "x"]],
])("the bound of a configuration's %s is exact", (_what, fits, exceeds) => {
  const parse = (value: unknown) => {
    const given = validSubmission();
    Object.assign(at(given, "configuration"), { value, explicitPointers: [] });
    return parseJobSubmitInput(given);
  };
  expect(parse(fits).configuration.value).toEqual(fits as never);
  expect(refusalOf(() => parse(exceeds))).toStartWith("/configuration/value");
});

test("ten thousand pointers that share a long beginning are refused before they are followed", () => {
  let value: unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, 0]));
  const key = "x".repeat(30_000);
  for (let level = 0; level < 60; level += 1) value = { [key]: value };
  const start = `/${key}`.repeat(60);
  const given = validSubmission();
  const explicitPointers = Array.from({ length: 5000 }, (_, index) => `${start}/k${index}`);
  Object.assign(at(given, "configuration"), { value, explicitPointers });
  expect(refusalOf(() => parseJobSubmitInput(given))).toContain("characters in all pointers together");
});

test("a message never holds a value", () => {
  const canary = `CANARY${"-"}${"7".repeat(8)}`;
  const paths = [...identities, ...digests, "input.paths", "configuration.explicitPointers", "signal"];
  for (const path of paths) {
    for (const value of [`${canary}\uD800`, [canary], { [`k`]: canary }, `${canary}${"x".repeat(300)}`])
      expect(refusalOf(() => parseJobSubmitInput(submissionWith(path, value)))).not.toContain(canary);
  }
});

test("a request's digest is over provider, input and configuration alone", () => {
  const digest = (path?: string, value?: unknown): string =>
    requestDigest(parseJobSubmitInput(path === undefined ? validSubmission() : submissionWith(path, value)));
  expect(digest("submissionKey", "another")).toBe(digest());
  expect(digest("signal", new AbortController().signal)).toBe(digest());
  const changes: readonly (readonly [string, unknown])[] = [
    ["provider.id", "x"],
    ["provider.version", "x"],
    ["provider.manifestDigest", digestWith("0")],
    ["input.revision.authorityId", "x"],
    ["input.revision.workspaceId", "x"],
    ["input.revision.revisionId", "x"],
    ["input.revision.treeDigest", digestWith("0")],
    ["input.paths", ["/case.json"]],
    ["configuration.value.cells", 1001],
    ["configuration.explicitPointers", ["/cells"]],
    ["configuration.expectedEffectiveDigest", undefined],
  ];
  const all = changes.map(([path, value]) => digest(path, value));
  expect(new Set([digest(), ...all]).size).toBe(changes.length + 1);
});

function objectsIn(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}
