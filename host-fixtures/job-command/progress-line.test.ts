import { expect, test } from "bun:test";
import { createProgressLine } from "./progress-line.ts";

function line(isTerminal: boolean) {
  let written = "";
  const target = { isTerminal, write: (text: string) => void (written += text) };
  return { ...createProgressLine(target), written: () => written };
}

test("a log gets a line for each phase and each quarter, and no control characters", () => {
  const progress = line(false);
  for (let completed = 0; completed <= 100; completed += 1)
    progress.show({ phase: "cut", completed, total: 100 });
  progress.show({ phase: "pack", message: "a\u001B[2Jb\u202Ec" });
  progress.interrupt(() => undefined);
  progress.end();
  expect(progress.written().split("\n")).toEqual([
    `[${"-".repeat(24)}] cut 0/100`,
    `[${"#".repeat(6)}${"-".repeat(18)}] cut 25/100`,
    `[${"#".repeat(12)}${"-".repeat(12)}] cut 50/100`,
    `[${"#".repeat(18)}${"-".repeat(6)}] cut 75/100`,
    `[${"#".repeat(24)}] cut 100/100`,
    "pack a\uFFFD[2Jb\uFFFDc",
    "",
  ]);
});

test("a terminal has one line, which makes room for others and never wraps", () => {
  const progress = line(true);
  const clear = "\r\u001B[K";
  progress.show({ phase: "read", completed: 5 });
  progress.interrupt(() => undefined);
  expect(progress.written()).toBe(`${clear}read 5${clear}${clear}read 5`);
  progress.show({ phase: "x".repeat(200), completed: 0, total: 0 });
  expect(progress.written()).toEndWith(`${clear}${"x".repeat(77)}…`);
  progress.end();
  expect(progress.written()).toEndWith(clear);
});
