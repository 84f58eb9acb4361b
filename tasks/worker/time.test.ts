import { afterEach, expect, spyOn, test } from "bun:test";
import { answerWithin, NoAnswer, pause, processTime, setLongTimeout } from "./time.ts";

const day = 24 * 3_600_000;
const timers = spyOn(globalThis, "setTimeout");
afterEach(() => {
  timers.mockClear();
});

test("a timer of 30 or 100 days is armed for what a timer can take, and does not fire at once", async () => {
  let fired = 0;
  for (const days of [24, 25, 30, 100]) {
    const callOff = setLongTimeout(days * day, () => {
      fired += 1;
    });
    await new Promise((resolve) => setImmediate(resolve));
    callOff();
  }
  expect(fired).toBe(0);
  for (const [, ms] of timers.mock.calls) expect(ms).toBeLessThanOrEqual(2 ** 31 - 1);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([24 * day, 2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1]);
});

test("a long timer is armed again for the rest, and fires once at its end", () => {
  const armed: { readonly run: () => void; readonly ms: number }[] = [];
  let now = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  const arm = timers.mockImplementation(((run: () => void, ms: number) => {
    armed.push({ run, ms });
    return 0;
  }) as never);
  let fired = 0;
  setLongTimeout(60 * day, () => {
    fired += 1;
  });
  for (let index = 0; index < armed.length; index += 1) {
    const timer = armed[index]!;
    now += timer.ms;
    timer.run();
  }
  clock.mockRestore();
  arm.mockRestore();
  expect(armed).toHaveLength(3);
  expect(armed.reduce((sum, { ms }) => sum + ms, 0)).toBe(60 * day);
  expect(fired).toBe(1);
});

test("a pause ends at its time or when its signal aborts, whichever is first", async () => {
  await pause(processTime, 1);
  const controller = new AbortController();
  const paused = pause(processTime, 60 * day, controller.signal);
  controller.abort();
  await paused;
  await pause(processTime, 60 * day, controller.signal);
});

test("a call without an answer in time rejects", async () => {
  const call = answerWithin(processTime, 5, () => new Promise(() => undefined));
  expect(await call.catch((error: unknown) => error)).toBeInstanceOf(NoAnswer);
});

test("a call's own answer passes, also one that it throws at once", async () => {
  expect(await answerWithin(processTime, 1000, async () => 7)).toBe(7);
  const thrown = new Error("at once");
  const call = answerWithin(processTime, 1000, () => {
    throw thrown;
  });
  expect(await call.catch((error: unknown) => error)).toBe(thrown);
});
