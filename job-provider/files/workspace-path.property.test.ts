import { expect, test } from "bun:test";
import { readdir, realpath } from "node:fs/promises";
import { posix } from "node:path";
import fc from "fast-check";
import { JobFileError } from "./job-file-error.ts";
import { givenWorkspace } from "./testing/given-workspace.ts";
import { workspacePath } from "./workspace-path.ts";

const odd = [
  "",
  ".",
  "..",
  "...",
  "a",
  "outside",
  "secret",
  "~",
  "C:",
  "a\\b",
  "a\0",
  "\n",
  "\uD800",
  "\u{1F600}",
  "\u0301",
  "%2e%2e",
  "a".repeat(255),
  "a".repeat(256),
  "ü".repeat(128),
];
const segment = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...odd) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
);
const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join("/"));

function isRefused(text: string): boolean {
  try {
    workspacePath(text);
    return false;
  } catch (error) {
    if (error instanceof JobFileError) return true;
    throw error;
  }
}

/** The rule once more, by what a path resolves to. */
function isRefusedByOracle(text: string): boolean {
  const resolved = posix.normalize(text);
  const named = text !== "" && resolved === text && resolved !== "." && !posix.isAbsolute(text);
  const inside = posix.resolve("/top", text) === `/top/${text}`;
  const short =
    text.length < 4096 && text.split("/").every((each) => new TextEncoder().encode(each).length <= 255);
  return !(named && inside && short && text.isWellFormed() && !/[\p{Cc}\\]/u.test(text));
}

test("a path is taken exactly when it names one place inside in its one way", () => {
  fc.assert(
    fc.property(path, (text) => {
      expect(isRefused(text)).toBe(isRefusedByOracle(text));
    }),
    { numRuns: 3_000 },
  );
});

test("whatever the path, a write lands inside or is refused, and nothing outside changes", async () => {
  await using scene = await givenWorkspace();
  const outside = async (): Promise<unknown> => [
    await readdir(scene.folder.path),
    await readdir(scene.folder.at("outside")),
    await readdir(scene.folder.at("attempts")),
  ];
  const before = await outside();
  let written = 0;
  await fc.assert(
    fc.asyncProperty(path, async (text) => {
      const done = await scene.files.write(text, "mine").then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(JobFileError);
          return false;
        },
      );
      if (done) {
        written += 1;
        expect(await realpath(scene.inside(text))).toBe(scene.inside(text));
        expect(Buffer.from(await scene.files.read(text)).toString()).toBe("mine");
        await scene.files.remove(text.split("/")[0] as string);
      } else expect(isRefusedByOracle(text)).toBe(true);
    }),
    { numRuns: 300 },
  );
  expect(written).toBeGreaterThan(20);
  expect(await outside()).toEqual(before);
});
