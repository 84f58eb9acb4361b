import * as fc from "fast-check";
import { RuntimeFailureError } from "../../capability/index.ts";
import { parseJobsConfig } from "../../plugin/config.ts";
import { expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { goodConfiguration } from "./good-configuration.ts";
import { almost, armed, hostileText, hostileValue } from "./hostile-values.ts";

const fields = Object.fromEntries(
  Object.entries(goodConfiguration).map(([key, value]) => [key, fc.constant(value)]),
);

const configurations = fc.oneof(
  {
    weight: 4,
    arbitrary: almost({ ...fields, driver: fc.constantFrom("bun", "pg"), poll_interval_ms: fc.nat(70_000) }),
  },
  { weight: 2, arbitrary: almost({ ...fields, schema: hostileText, database_url_secret: hostileText }) },
  { weight: 1, arbitrary: hostileValue },
);

/** Configurations of an Instance, schema names and secret references in their place among them. */
export const configuration: FuzzTarget = {
  name: "configurations",
  share: 3,
  property: () =>
    fc.property(configurations, (value) => {
      try {
        const parsed = parseJobsConfig(armed(value));
        if (!/^[a-z][a-z0-9_]{0,62}$/.test(parsed.schema))
          throw new TypeError("a schema's name that is none was taken");
        if (!Object.isFrozen(parsed))
          throw new TypeError("a configuration was taken that can still be changed");
      } catch (error) {
        if (!(error instanceof RuntimeFailureError) || error.kind !== "invalid_resolved_plan") throw error;
        expectNoCanary(error);
      }
    }),
};
