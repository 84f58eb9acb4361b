import { expect, jest, test } from "bun:test";
import { openCall } from "./call.ts";

const context = { requestId: "1", callerInstance: "caller", cancelled: false };

test("a call without limits is never over", () => {
  const call = openCall(context);
  expect(call).toMatchObject({ caller: "caller", over: undefined });
});

test("a cancelled, aborted or expired call is over before it begins", () => {
  expect(openCall({ ...context, cancelled: true }).over?.kind).toBe("cancelled");
  expect(openCall({ ...context, signal: AbortSignal.abort() }).over?.kind).toBe("cancelled");
  expect(openCall({ ...context, deadline: "PT0S" }).over?.kind).toBe("deadline_exceeded");
});

test("a deadline that is no duration is a protocol_violation", () => {
  expect(openCall({ ...context, deadline: "soon" }).over?.kind).toBe("protocol_violation");
});

test("an abort ends the call once", () => {
  const controller = new AbortController();
  const call = openCall({ ...context, signal: controller.signal });
  const reasons: string[] = [];
  call.onOver?.((reason) => reasons.push(reason.kind));
  controller.abort();
  controller.abort();
  expect(reasons).toEqual(["cancelled"]);
  expect(call.over?.kind).toBe("cancelled");
});

test("who forgets a call hears nothing of its end", () => {
  const controller = new AbortController();
  const call = openCall({ ...context, signal: controller.signal, deadline: "PT10S" });
  const forget = call.onOver?.(() => {
    throw new Error("called");
  });
  forget?.();
  controller.abort();
});

test("a deadline beyond the reach of a timer does not end the call at once", () => {
  const delays: number[] = [];
  const spy = jest.spyOn(globalThis, "setTimeout").mockImplementation(((_: () => void, delay: number) => {
    delays.push(delay);
    return 0;
  }) as never);
  try {
    openCall({ ...context, deadline: "P40D" }).onOver?.(() => undefined);
  } finally {
    spy.mockRestore();
  }
  expect(delays).toEqual([2 ** 31 - 1]);
});
