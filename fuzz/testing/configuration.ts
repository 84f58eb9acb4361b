import * as fc from "fast-check";
import { RuntimeFailureError } from "../../capability/index.ts";
import { parseJobsConfig } from "../../plugin/config.ts";
import { expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { goodConfiguration } from "./good-configuration.ts";
import {
  almost,
  armed,
  hostileText,
  hostileValue,
  nearlyName,
  nearlySchema,
  oneWrong,
} from "./hostile-values.ts";

const fields = Object.fromEntries(
  Object.entries(goodConfiguration).map(([key, value]) => [key, fc.constant(value)]),
);

const options = {
  driver: fc.constantFrom("bun", "pg"),
  poll_interval_ms: fc.integer({ min: 100, max: 60_000 }),
};
const someNames = fc.array(nearlyName, { maxLength: 3 });

const configurations = fc.oneof(
  {
    weight: 6,
    arbitrary: oneWrong(
      { ...fields, ...options },
      {
        schema: fc.oneof(nearlySchema, hostileText),
        database_url_secret: fc.oneof(nearlyName, hostileText),
        lease_seconds: fc.integer({ min: -1, max: 3602 }),
        retry_max_seconds: fc.integer({ min: -1, max: 86_402 }),
        poll_interval_ms: fc.nat(70_000),
        queues: someNames,
        producer_instances: someNames,
        worker_instances: someNames,
        observer_instances: someNames,
      },
    ),
  },
  {
    weight: 2,
    arbitrary: almost({ ...fields, driver: fc.constantFrom("bun", "pg"), poll_interval_ms: fc.nat(70_000) }),
  },
  { weight: 2, arbitrary: almost({ ...fields, schema: hostileText, database_url_secret: hostileText }) },
  { weight: 1, arbitrary: hostileValue },
);

/** Configurations of an Instance, schema names and secret references in their place among them. */
export const configuration: FuzzTarget = {
  name: "configurations",
  share: 3,
  leastOfThousand: {
    taken: 60,
    ...Object.fromEntries(Object.keys(goodConfiguration).map((key) => [`refused ${key}`, 8])),
    "refused observer_instances": 4,
    "refused poll_interval_ms": 10,
    "refused driver": 10,
    "refused for its form": 10,
  },
  property: (reach) =>
    fc.property(configurations, (value) => {
      try {
        const parsed = parseJobsConfig(armed(value));
        if (!/^[a-z][a-z0-9_]{0,62}$/.test(parsed.schema))
          throw new TypeError("a schema's name that is none was taken");
        if (!Object.isFrozen(parsed))
          throw new TypeError("a configuration was taken that can still be changed");
        reach("taken");
      } catch (error) {
        if (!(error instanceof RuntimeFailureError) || error.kind !== "invalid_resolved_plan") throw error;
        expectNoCanary(error);
        const [, key = ""] = /Instance: ([a-z_]+): /.exec(error.detail) ?? [];
        reach(key in fields || key in options ? `refused ${key}` : "refused for its form");
      }
    }),
};
