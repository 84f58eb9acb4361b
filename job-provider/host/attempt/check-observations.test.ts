import { expect, test } from "bun:test";
import { refusalOf } from "../../testing/refusal-of.ts";
import { checkLogEntry } from "./check-log-entry.ts";
import { checkProgress } from "./check-progress.ts";

test("an update within its bounds is owned and frozen, and −0 becomes 0", () => {
  const update = { phase: "x".repeat(128), completed: -0, total: 0, message: "y".repeat(1024) };
  const checked = checkProgress(update);
  update.phase = "changed";
  expect(checked).toEqual({ phase: "x".repeat(128), completed: 0, total: 0, message: "y".repeat(1024) });
  expect(Object.isFrozen(checked)).toBe(true);
  expect(Object.keys(checkProgress({ phase: "a", completed: undefined }))).toEqual(["phase"]);
});

test.each([
  ["an empty phase", { phase: "" }, "/progress/phase: expected 1..128 characters, got 0"],
  ["a long phase", { phase: "x".repeat(129) }, "/progress/phase: expected 1..128"],
  ["a long message", { phase: "a", message: "x".repeat(1025) }, "/progress/message: expected 0..1024"],
  [
    "more than the total",
    { phase: "a", completed: 2, total: 1 },
    "/progress/completed: expected no more than the total",
  ],
  ["NaN", { phase: "a", completed: Number.NaN }, "/progress/completed: expected a finite number"],
  ["a negative total", { phase: "a", total: -1 }, "/progress/total: expected a finite number"],
  ["a lone surrogate", { phase: "\ud800" }, "/progress/phase: a lone surrogate"],
  ["a further key", { phase: "a", extra: 1 }, "/progress/extra: no such key"],
  ["nothing", undefined, "/progress: expected an object"],
])("progress with %s is refused", (_, update, message) => {
  expect(refusalOf(() => checkProgress(update))).toContain(message);
});

test.each([
  [
    "an unknown level",
    { level: "loud", message: "" },
    "/log/level: expected one of debug, info, warn, error",
  ],
  ["a long message", { level: "info", message: "x".repeat(4097) }, "/log/message: expected 0..4096"],
  ["no message", { level: "info" }, "/log/message: missing"],
])("a line with %s is refused", (_, entry, message) => {
  expect(refusalOf(() => checkLogEntry(entry))).toContain(message);
});
