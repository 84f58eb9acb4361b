import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import {
  bindJobsProvider,
  type JobsOperation,
  type JobsProvider,
  jobsCapability,
} from "../../capability/index.ts";
import configurationSchema from "../../plugin/config.schema.json" with { type: "json" };
import { parseJobsConfig } from "../../plugin/config.ts";
import { generateSchemas } from "../../scripts/generate-schemas.ts";
import { configuration } from "./support/backends.ts";
import { jobRequest } from "./support/given.ts";

const root = join(import.meta.dir, "../..");
const ajv = new Ajv2020({ strict: true, allErrors: false });
const operations = jobsCapability.descriptor.operations as readonly JobsOperation[];

async function schemaOf(operation: string, part: string): Promise<ValidateFunction> {
  return ajv.compile(
    await Bun.file(join(root, `capability/schemas/lenso.jobs.v1/${operation}.${part}.json`)).json(),
  );
}

describe("the published JSON Schemas", () => {
  test("are those that the code generates, each of them and no other", async () => {
    const generated = generateSchemas();
    const found = [
      ...new Bun.Glob("capability/schemas/**/*.json").scanSync({ cwd: root }),
      "plugin/config.schema.json",
    ];
    expect(found.toSorted()).toEqual([...generated.keys()].toSorted());
    for (const [path, text] of generated) {
      expect({ path, same: (await Bun.file(join(root, path)).text()) === text }).toEqual({
        path,
        same: true,
      });
    }
  });

  test("are JSON Schema 2020-12 and closed", async () => {
    for (const operation of operations) {
      for (const part of ["request", "response"]) {
        const { schema } = await schemaOf(operation, part);
        expect(schema).toMatchObject({
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          additionalProperties: false,
        });
      }
    }
  });

  test("list each operation's domain errors, and leave room for later ones", async () => {
    for (const operation of operations) {
      const validate = await schemaOf(operation, "error");
      for (const code of jobsCapability.operations[operation].errors) expect(validate(code)).toBe(true);
      expect(validate({ code: "from_the_future", payload: 1 })).toBe(true);
      for (const value of ["from_the_future", null, 1, {}, { code: 1 }]) expect(validate(value)).toBe(false);
    }
  });
});

const lease = { job_id: "j", lease_token: "t" };
const requests: Record<JobsOperation, Record<string, unknown>> = {
  claim: { queue: "mail" },
  complete: lease,
  enqueue: { ...jobRequest() },
  fail: { ...lease, failure_code: "busy", retryable: true },
  inspect: { job_id: "j" },
  renew: lease,
};

/** The request and everything that is one change away from it. */
function variants(request: Record<string, unknown>): unknown[] {
  const values = [null, true, false, 0, 1, 1.5, -1, 1e300, "", "text", [], [{}], {}, { a: 1 }];
  const changed = Object.keys(request).flatMap((key) => [
    Object.fromEntries(Object.entries(request).filter(([each]) => each !== key)),
    ...values.map((value) => ({ ...request, [key]: value })),
  ]);
  const extended = ["extra", "", "constructor", "toString"].map((key) => ({ ...request, [key]: 1 }));
  return [
    request,
    ...values,
    ...changed,
    ...extended,
    JSON.parse(`{"__proto__":1,${JSON.stringify(request).slice(1)}`),
  ];
}

describe("requests", () => {
  test.each([...operations])(
    "of %s are accepted and refused by the schema as by the code",
    async (operation) => {
      const validate = await schemaOf(operation, "request");
      const reached = async () => ({ ok: true, value: {} });
      const provider = Object.fromEntries(
        operations.map((each) => [each, reached]),
      ) as unknown as JobsProvider;
      const endpoint = bindJobsProvider(provider);
      for (const request of variants(requests[operation])) {
        const outcome = await endpoint.invokeRequest(
          operation,
          { requestId: "1", cancelled: false },
          request,
        );
        const code = outcome.kind === "success";
        expect({ request, accepted: validate(request) }).toEqual({ request, accepted: code });
      }
    },
  );
});

const set = (changes: object): object => ({ ...configuration, ...changes });
const without = (key: string): object =>
  Object.fromEntries(Object.entries(configuration).filter(([each]) => each !== key));
const keys = Object.keys(configuration);
const name = (length: number): string => "n".repeat(length);

const good: readonly object[] = [
  configuration,
  without("observer_instances"),
  set({ observer_instances: [] }),
  ...["a", "jobs_2", `s${"x".repeat(62)}`, "pgboss", "public_", "publicity", "information_schema2", "p"].map(
    (schema) => set({ schema }),
  ),
  ...["a", "jobs/url", "A.b_c-d/0", name(256), "...", "a..b", ".a", "a."].map((database_url_secret) =>
    set({ database_url_secret }),
  ),
  ...[1, 3600, 30.0].map((lease_seconds) => set({ lease_seconds })),
  set({ retry_base_seconds: 1, retry_max_seconds: 1 }),
  set({ retry_base_seconds: 86_400, retry_max_seconds: 86_400 }),
  set({ queues: ["a", "A", name(128), "._-:/09"] }),
  set({ producer_instances: [name(256)], worker_instances: [name(256)], observer_instances: [name(256)] }),
  set({ driver: "bun" }),
  set({ driver: "pg" }),
  set({ transaction_pooler: true }),
  set({ transaction_pooler: false }),
];

const bad: readonly unknown[] = [
  null,
  undefined,
  1,
  "text",
  [],
  [configuration],
  true,
  ...keys.filter((key) => key !== "observer_instances").map(without),
  ...keys.flatMap((key) => [null, {}, true, [1], [null]].map((value) => set({ [key]: value }))),
  ...["extra", "Schema", "", "constructor", "toString"].map((key) => set({ [key]: 1 })),
  JSON.parse(`{"__proto__":1,${JSON.stringify(configuration).slice(1)}`),
  ...[
    "",
    "A",
    "1a",
    "_a",
    "a-b",
    "a b",
    "a.b",
    "é",
    "public",
    "information_schema",
    "pg_",
    "pg_jobs",
    "a\n",
    " a",
  ].map((schema) => set({ schema })),
  set({ schema: `s${"x".repeat(63)}` }),
  ...[
    "",
    "/",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/..",
    "a/.",
    "./a",
    "../a",
    "a/../b",
    "a/./b",
    "a b",
    "a\n",
    "é",
    name(257),
  ].map((database_url_secret) => set({ database_url_secret })),
  ...[0, 3601, 1.5, -1, "30", 1e9].map((lease_seconds) => set({ lease_seconds })),
  ...[0, -1, 0.5, 86_401, "1"].map((retry_base_seconds) =>
    set({ retry_base_seconds, retry_max_seconds: 86_400 }),
  ),
  ...[0, 86_401, 60.5, "60"].map((retry_max_seconds) => set({ retry_max_seconds, retry_base_seconds: 1 })),
  ...["queues", "producer_instances", "worker_instances"].map((key) => set({ [key]: [] })),
  ...["queues", "producer_instances", "worker_instances", "observer_instances"].flatMap((key) =>
    [["a", "a"], [""], ["a b"], ["é"], ["a\n"], ["a", 1], "a", [name(257)], [["a"]]].map((value) =>
      set({ [key]: value }),
    ),
  ),
  set({ queues: [name(129)] }),
  ...["node", "", 1, null, "PG"].map((driver) => set({ driver })),
  ...[0, "true", null].map((transaction_pooler) => set({ transaction_pooler })),
];

const codeAccepts = (given: unknown): boolean => {
  try {
    parseJobsConfig(given);
    return true;
  } catch {
    return false;
  }
};

describe("configurations", () => {
  const validate = ajv.compile(configurationSchema);

  test("that are good are accepted by the code and by config.schema.json", () => {
    for (const given of good) {
      expect({ given, code: codeAccepts(given), schema: validate(given) }).toEqual({
        given,
        code: true,
        schema: true,
      });
    }
  });

  test("that are bad are refused by both", () => {
    for (const given of bad) {
      expect({ given, code: codeAccepts(given), schema: validate(given) }).toEqual({
        given,
        code: false,
        schema: false,
      });
    }
  });

  test("a maximum below the base is refused by the code alone: JSON Schema cannot say it", () => {
    const given = set({ retry_base_seconds: 61, retry_max_seconds: 60 });
    expect(codeAccepts(given)).toBe(false);
    expect(validate(given)).toBe(true);
  });

  test("that are accepted are frozen, with their defaults", () => {
    const config = parseJobsConfig(without("observer_instances"));
    expect(config).toEqual({
      ...configuration,
      observer_instances: [],
      transaction_pooler: false,
      poll_interval_ms: 1000,
    });
    for (const value of [config, config.queues, config.producer_instances, config.observer_instances]) {
      expect(Object.isFrozen(value)).toBe(true);
    }
  });

  test.each([
    [{ lease_seconds: 0 }, "lease_seconds: expected an integer 1..3600, got 0"],
    [
      { queues: ["a", "a"] },
      'queues: expected a non-empty array of unique names, each 1..128 of A-Z a-z 0-9 . _ - : /, got ["a","a"]',
    ],
    [{ schema: "Jobs" }, 'got "Jobs"'],
    [{ extra: 1 }, "extra: unknown key"],
    [{ driver: "node" }, 'driver: expected "bun" or "pg", got "node"'],
    [{ retry_base_seconds: 61 }, "retry_max_seconds: expected at least retry_base_seconds (61), got 60"],
    [{ retry_base_seconds: 61, lease_seconds: 0 }, "lease_seconds"],
  ])("%j is refused as invalid_resolved_plan: %s", (changes, message) => {
    expect(() => parseJobsConfig(set(changes))).toThrow(
      expect.objectContaining({ kind: "invalid_resolved_plan", detail: expect.stringContaining(message) }),
    );
  });

  test("a URL in the place of a secret reference is not shown", () => {
    const secret = `${"CANARY"}-${crypto.randomUUID().replaceAll("-", "")}`;
    let text = "";
    try {
      parseJobsConfig(set({ database_url_secret: `postgres://user:${secret}@host/db` }));
    } catch (error) {
      text = `${String(error)} ${Bun.inspect(error)} ${JSON.stringify(error)}`;
    }
    expect(text.includes("database_url_secret")).toBe(true);
    expect(text.includes(secret)).toBe(false);
  });
});
