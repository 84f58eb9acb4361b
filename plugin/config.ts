import * as v from "valibot";
import { isPlainObject, isSecretReference, RuntimeFailureError } from "../capability/index.ts";
import { isName } from "./operations/names.ts";

/** The JSON Schema of a check that is code, for `config.schema.json`. */
const published = <T>(jsonSchema: object): v.MetadataAction<T, { jsonSchema: object }> =>
  v.metadata({ jsonSchema });

const integer = (minimum: number, maximum: number) =>
  v.pipe(
    v.number(`expected an integer ${minimum}..${maximum}`),
    v.check(
      (value) => Number.isInteger(value) && value >= minimum && value <= maximum,
      `expected an integer ${minimum}..${maximum}`,
    ),
    published({ type: "integer", minimum: minimum, maximum: maximum }),
  );

const names = (max: number, atLeastOne: boolean) => {
  const expected = `expected ${atLeastOne ? "a non-empty" : "an"} array of unique names, each 1..${max} of A-Z a-z 0-9 . _ - : /`;
  return v.pipe(
    v.array(v.string(expected), expected),
    v.check((list) => !atLeastOne || list.length > 0, expected),
    v.check((list) => new Set(list).size === list.length, expected),
    v.checkItems((name) => isName(name, max), expected),
    v.readonly(),
    published({
      type: "array",
      ...(atLeastOne ? { minItems: 1 } : {}),
      uniqueItems: true,
      items: { type: "string", minLength: 1, maxLength: max, pattern: "^[A-Za-z0-9._:/-]+$" },
    }),
  );
};

const schemaPattern = "^(?!pg_|public$|information_schema$)[a-z][a-z0-9_]{0,62}$";
const referencePattern = "^(?!\\.{1,2}(?:/|$))[A-Za-z0-9._-]+(?:/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._-]+)*$";
const expectedSchema =
  "expected a-z, 0-9 and _, at most 63, a letter first, and not public, information_schema or pg_…";
const expectedReference =
  "expected a secret reference, 1..256 of letters, digits and . _ - / without empty, . or .. segments";

/** The validated, frozen configuration of one Jobs Instance. */
export interface JobsConfig {
  /** PostgreSQL schema that this Instance alone owns. Renaming it later is a data move, not a configuration change. */
  readonly schema: string;
  /** Where the bound Secrets capability finds the database URL. The URL itself never appears in a configuration. */
  readonly database_url_secret: string;
  /** How long a claim or renewal holds, in seconds, 1..3600. Too low repeats work after every hiccup; too high delays recovery of a dead worker's job. */
  readonly lease_seconds: number;
  /** Delay before the second attempt, in seconds; each further one doubles it. */
  readonly retry_base_seconds: number;
  /** Longest delay between two attempts, in seconds, at most 86 400. */
  readonly retry_max_seconds: number;
  /** The queues of this Instance. A queue that is not listed never reaches the database. */
  readonly queues: readonly string[];
  /** Keys of the Instances that may enqueue. */
  readonly producer_instances: readonly string[];
  /** Keys of the Instances that may claim, renew, complete and fail. */
  readonly worker_instances: readonly string[];
  /** Keys of the Instances that may only inspect. Default none. */
  readonly observer_instances: readonly string[];
  /** PostgreSQL client: Bun's own, or the npm package `pg`, which also runs under Node. Default: `bun` under Bun, otherwise `pg`. */
  readonly driver?: "bun" | "pg";
  /** True behind a pooler in transaction mode (PgBouncer): no start-up settings and no prepared statements; the role must carry the settings. Default false. */
  readonly transaction_pooler: boolean;
  /** How often a queue that a worker waits for is looked at, in ms, 100..60 000. It bounds how late a job is noticed when no notification comes. Default 1000. */
  readonly poll_interval_ms: number;
}

const fields = {
  schema: v.pipe(v.string(expectedSchema), v.regex(new RegExp(schemaPattern), expectedSchema)),
  database_url_secret: v.pipe(
    v.string(expectedReference),
    v.check(isSecretReference, expectedReference),
    published({ type: "string", minLength: 1, maxLength: 256, pattern: referencePattern }),
  ),
  lease_seconds: integer(1, 3600),
  retry_base_seconds: integer(1, 86_400),
  retry_max_seconds: integer(1, 86_400),
  queues: names(128, true),
  producer_instances: names(256, true),
  worker_instances: names(256, true),
  observer_instances: v.optional(names(256, false), () => []),
  driver: v.exactOptional(v.picklist(["bun", "pg"], 'expected "bun" or "pg"')),
  transaction_pooler: v.optional(v.boolean("expected true or false"), false),
  poll_interval_ms: v.optional(integer(100, 60_000), 1000),
};

/** The valibot schema behind {@link parseJobsConfig}, from which `config.schema.json` is generated. */
export const jobsConfigSchema: v.GenericSchema<unknown, JobsConfig> = v.pipe(
  v.strictObject(fields),
  v.check(
    (config) => config.retry_max_seconds >= config.retry_base_seconds,
    "retry_max_seconds: expected at least retry_base_seconds",
  ),
);

/**
 * Checks an Instance's configuration.
 *
 * @throws RuntimeFailureError `invalid_resolved_plan`, naming the key, what was expected and what arrived.
 */
export function parseJobsConfig(configuration: unknown): JobsConfig {
  const read = readConfig(configuration);
  if (typeof read !== "string") return freeze(read);
  throw new RuntimeFailureError("invalid_resolved_plan", `configuration of the Jobs Instance: ${read}`);
}

/** The configuration, or its problems. It is JSON; an object that throws when it is read is none, and what it throws may hold anything. */
function readConfig(configuration: unknown): JobsConfig | string {
  try {
    const given = isPlainObject(configuration) ? configuration : arrived(configuration);
    const parsed = v.safeParse(jobsConfigSchema, given);
    return parsed.success ? parsed.output : [...new Set(parsed.issues.map(describe))].join("; ");
  } catch {
    return "cannot be read";
  }
}

function freeze(config: JobsConfig): JobsConfig {
  for (const value of Object.values(config)) if (Array.isArray(value)) Object.freeze(value);
  return Object.freeze(config);
}

function describe(issue: v.BaseIssue<unknown>): string {
  const path = issue.path?.map((item) => String(item.key)).join(".") ?? "";
  const key = /^[\w.]{0,80}$/.test(path) ? path : "(a key that is no name)";
  if (issue.type === "strict_object") {
    if (key === "") return `expected an object, got ${String(issue.input)}`;
    return issue.expected === "never"
      ? `${key}: unknown key, expected one of ${Object.keys(fields).join(", ")}`
      : `${key}: missing`;
  }
  if (key === "") {
    const config = issue.input as JobsConfig;
    return `${issue.message} (${config.retry_base_seconds}), got ${config.retry_max_seconds}`;
  }
  return `${key}: ${issue.message}, got ${arrived(issue.input)}`;
}

/** What stands where a value was expected, never a text that could be a secret put in the wrong place. */
function arrived(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) {
    const shown = value.length <= 8 && value.every(isHarmless);
    return shown ? JSON.stringify(value) : `an array of ${value.length}`;
  }
  if (typeof value !== "string") return `a value of type ${typeof value}`;
  return isHarmless(value) ? JSON.stringify(value) : `a text of ${value.length} characters`;
}

/** A name, and nothing like a URL with a password in it. */
function isHarmless(value: unknown): boolean {
  return typeof value === "string" && /^[A-Za-z0-9._-]{0,64}$/.test(value);
}
