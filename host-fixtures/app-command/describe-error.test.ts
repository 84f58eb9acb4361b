import { expect, test } from "bun:test";
import { describeError } from "./describe-error.ts";

const secret = ["CANARY", "secret"].join("-");

test("an error is told with its causes and with those that it collects, in one line", () => {
  const cause = new TypeError("the\nreason");
  expect(describeError(new Error("it failed", { cause }), {})).toBe(
    "Error: it failed: TypeError: the reason",
  );
  const both = new AggregateError([new Error("one"), new Error("two")], "both failed");
  expect(describeError(both, {})).toBe("AggregateError: both failed: Error: one: Error: two");
});

test("a long or circular story ends, and what is no error is told by its type", () => {
  expect(describeError(new Error("long ".repeat(1000)), {})).toHaveLength(601);
  const circle = new Error("round");
  circle.cause = circle;
  expect(describeError(circle, {})).toMatch(/^Error: round(: Error: round){1,10}$/);
  expect(describeError(secret, {})).toBe("what was thrown is no Error but string");
  expect(describeError(undefined, {})).toBe("what was thrown is no Error but undefined");
});

test.each([
  `cannot reach postgres://app:${secret}@db:5432/notes`,
  `cannot reach postgresql://db/notes?password=${secret}&ssl=1`,
  `GET https://example.test/${secret} failed`,
  `bad option password=${secret}, port=1`,
  `token: ${secret}`,
])("a secret in a text of the usual forms is hidden: %#", (message) => {
  const told = describeError(new Error(message, { cause: new Error(message) }), {});
  expect(told).not.toContain(secret);
  expect(told).toContain("[hidden]");
});

test("the value of a variable whose name speaks of a secret is hidden wherever it stands, others are not", () => {
  const error = new Error(`no session ${secret} for reports`);
  expect(describeError(error, { TASK_SESSION: secret, QUEUE: "reports" })).toBe(
    "Error: no session [hidden] for reports",
  );
});
