import { describe, expect, test } from "bun:test";
import { RuntimeFailureError } from "../capability/index.ts";
import { type JobsConfig, parseJobsConfig } from "./config.ts";

const valid = {
  schema: "jobs",
  database_url_secret: "database",
  lease_seconds: 30,
  retry_base_seconds: 1,
  retry_max_seconds: 60,
  queues: ["mail"],
  producer_instances: ["app"],
  worker_instances: ["app"],
};
const keys = [...Object.keys(valid), "observer_instances", "driver", "transaction_pooler", "unknown"];

/** The refusal of a configuration, in full. */
function failureOf(configuration: unknown): RuntimeFailureError {
  try {
    parseJobsConfig(configuration);
  } catch (error) {
    expect(error).toBeInstanceOf(RuntimeFailureError);
    return error as RuntimeFailureError;
  }
  throw new Error("the configuration was accepted");
}

const password = ["CANARY", "password"].join("-");
const url = ["postgres:/", `/user:${password}@host/database`].join("");

test("a valid configuration is accepted and frozen, with its defaults", () => {
  const config: JobsConfig = parseJobsConfig(valid);
  expect(config).toMatchObject({ ...valid, observer_instances: [], transaction_pooler: false });
  expect([config, config.queues, config.observer_instances].every((each) => Object.isFrozen(each))).toBe(
    true,
  );
});

describe.each(keys)("a database URL under %s", (key) => {
  test.each<[string, unknown]>([
    ["as a text", url],
    ["in an array", [url]],
    ["beside names", ["mail", url]],
    ["as an object", new URL(url)],
    ["in an object", { url }],
    ["as a key", { [url]: true }],
    ["deep inside", [[{ deep: [url] }]]],
    ["in a text around it", `use ${url} please`],
  ])("is refused and not shown %s", (_, value) => {
    const failure = failureOf({ ...valid, [key]: value });
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(failure.detail).toContain(key);
    for (const text of [failure.detail, failure.message, String(failure.stack), Bun.inspect(failure)])
      expect(text.includes(password) || text.includes(url)).toBe(false);
  });
});

test.each<[string, unknown]>([
  ["as the whole configuration", url],
  ["in an array as the whole configuration", [url]],
])("a database URL is not shown %s", (_, configuration) => {
  const failure = failureOf(configuration);
  expect(failure.kind).toBe("invalid_resolved_plan");
  expect(Bun.inspect(failure).includes(password)).toBe(false);
});

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;
const cyclicArray: unknown[] = [];
cyclicArray.push(cyclicArray);
const throwing = (): never => {
  throw new Error(password);
};
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const exotic: [string, unknown][] = [
  ["a bigint", 3n],
  ["bigints", [3n]],
  ["a symbol", Symbol(password)],
  ["a function", throwing],
  ["a cyclic object", cyclic],
  ["a cyclic array", cyclicArray],
  ["an object whose conversions throw", { toString: throwing, toJSON: throwing, valueOf: throwing }],
  ["a proxy that throws", new Proxy({}, { get: throwing, ownKeys: throwing, getPrototypeOf: throwing })],
  ["a revoked proxy", revoked.proxy],
  ["a number that is none", Number.NaN],
];

describe.each(exotic)("%s", (_, value) => {
  test.each(keys)("under %s is an invalid plan", (key) => {
    const failure = failureOf({ ...valid, [key]: value });
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(Bun.inspect(failure).includes(password)).toBe(false);
  });

  test("as the whole configuration is an invalid plan", () => {
    const failure = failureOf(value);
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(Bun.inspect(failure).includes(password)).toBe(false);
  });
});

test("a getter that throws is an invalid plan, under any key", () => {
  for (const key of keys) {
    const configuration = Object.defineProperty({ ...valid }, key, { enumerable: true, get: throwing });
    const failure = failureOf(configuration);
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(Bun.inspect(failure).includes(password)).toBe(false);
  }
});
