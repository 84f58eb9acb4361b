import { expect, test } from "bun:test";
import { formatDuration, parseDuration } from "./duration.ts";

test.each([
  ["PT0S", 0],
  ["PT2.5S", 2500],
  ["PT1M", 60_000],
  ["PT1H30M", 5_400_000],
  ["P1DT1S", 86_401_000],
  ["P2W", 1_209_600_000],
  ["P1Y", 31_536_000_000],
])("%s is %d ms", (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each(["", "P", "PT", "P1DT", "2.5", "PT-1S", "PT1S ", "pt1s"])("%j is no duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test("what is formatted reads back to the millisecond, and never below zero", () => {
  for (const milliseconds of [0, 1, 999, 1000, 61_234, 86_400_000]) {
    expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
  }
  expect(formatDuration(-5)).toBe("PT0.000S");
});
