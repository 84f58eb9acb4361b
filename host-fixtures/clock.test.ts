import { expect, test } from "bun:test";
import { createTestClock, systemClock } from "./clock.ts";

test("a test clock stands still until it is advanced, to the microsecond", async () => {
  const clock = createTestClock("2026-12-31T23:59:59.999999Z");
  expect(await clock.now()).toBe("2026-12-31T23:59:59.999999Z");
  await clock.advance(0.001);
  expect(clock.instant).toBe("2027-01-01T00:00:00.000000Z");
  await clock.advance(86_400_000.5);
  expect(await clock.now()).toBe("2027-01-02T00:00:00.000500Z");
});

test("a test clock refuses a start that is no instant, and a step that is not forward", async () => {
  expect(() => createTestClock("yesterday")).toThrow(
    'expected an instant such as 2026-01-01T00:00:00.000000Z, got "yesterday"',
  );
  const clock = createTestClock();
  for (const step of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(clock.advance(step)).rejects.toThrow(`a clock advances by 0 or more milliseconds, got ${step}`);
  }
});

test("the system clock tells the process's time with microseconds", () => {
  const { instant } = systemClock;
  expect(instant).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(Math.abs(Date.parse(instant) - Date.now())).toBeLessThan(5_000);
});
