import type { Pool } from "pg";
import * as v from "valibot";
import { checkOptions, integer } from "../check-options.ts";
import { consoleTrouble } from "../console-logger.ts";

/** Exactly one of `connectionString` and `pool`. */
export interface PostgresTaskProviderOptions {
  /** Different names part durable work: a job enqueued under one is never seen under another. Kept by pg-boss: `[\w./-]`, 1..128. */
  readonly queueName: string;
  /** For a pool of its own of 10 connections, and one more for LISTEN while a worker runs. */
  readonly connectionString?: string | undefined;
  /**
   * A borrowed pool: never closed, and shared with whoever else uses it. Handlers may hold all of it: a worker has up to 3 connections
   * of its own beside it, with its settings, and one more for LISTEN. A call that finds none free within 10 s is `provider-unavailable`.
   */
  readonly pool?: Pool | undefined;
  /** Schema of pg-boss's tables and ours, at most 50 bytes. Renaming it later is a data move. Default `pgboss`. */
  readonly schema?: string | undefined;
  /** The net under the wake-ups: the longest that a due job waits when no notification came, in ms. Default 1000. */
  readonly pollIntervalMs?: number | undefined;
  /** How long a worker may be silent before its job is taken away. Low: an outage repeats work. High: a crash is noticed late. Default 30. */
  readonly heartbeatSeconds?: number | undefined;
  /** Longest run of one attempt, from its claim. Heartbeats do not extend it. Default 900. */
  readonly expireInSeconds?: number | undefined;
  /** How long a finished job can still be read. Jobs that have not run are never pruned. Default 604 800. */
  readonly retentionSeconds?: number | undefined;
  /** How often a provider with a worker looks for claims whose worker went silent, and prunes. Default 30. */
  readonly superviseIntervalSeconds?: number | undefined;
  /**
   * Told of trouble in the background: a lost listener, a failed look, a worker in an outage. Default: one line on `console.error`, with
   * the error's class and code. A function that does nothing is silence.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The provider's options, so that one object serves both. With a `queueName` the queue is made as well. */
export interface MigratePostgresTaskQueueOptions extends Omit<PostgresTaskProviderOptions, "queueName"> {
  readonly queueName?: string | undefined;
}

type Defaults = "schema" | "pollIntervalMs" | "heartbeatSeconds" | "expireInSeconds" | "retentionSeconds";
type Filled<Options extends MigratePostgresTaskQueueOptions> = Options & {
  readonly [Key in Defaults | "superviseIntervalSeconds"]: NonNullable<Options[Key]>;
};
export type PostgresTaskProviderSettings = Filled<PostgresTaskProviderOptions>;
export type MigratePostgresTaskQueueSettings = Filled<MigratePostgresTaskQueueOptions>;

/** pg-boss keeps names to these characters; its own queues start with two underscores. */
const queueName = v.pipe(
  v.string(),
  v.regex(/^(?!__)[\w./-]{1,128}$/, "expected 1..128 letters, digits, _ - . / and not __ in front"),
);

/** PostgreSQL would take 63 bytes; pg-boss derives names from it and takes no more than 50. */
const schemaName = v.pipe(
  v.string(),
  v.regex(/^(?!pg_)[a-z_][a-z0-9_]{0,49}$/, "expected ^[a-z_][a-z0-9_]*$, at most 50, not pg_ in front"),
  v.check((name) => name !== "public", "expected a schema of its own, not public"),
);

const connectionString = v.pipe(
  v.string(),
  v.check(
    (text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text),
    "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE",
  ),
);

const entries = {
  connectionString: v.optional(connectionString),
  pool: v.optional(v.custom<Pool>(isPgPool, "expected a pg.Pool (a Bun.SQL pool is none)")),
  schema: v.optional(schemaName, "pgboss"),
  pollIntervalMs: v.optional(integer(10, 3_600_000), 1_000),
  heartbeatSeconds: v.optional(integer(10, 86_400), 30),
  expireInSeconds: v.optional(integer(1, 86_400), 900),
  retentionSeconds: v.optional(integer(1, 2_147_483_647), 604_800),
  superviseIntervalSeconds: v.optional(integer(1, 3_600), 30),
  onError: v.optional(
    v.custom<(error: unknown) => void>((value) => typeof value === "function", "expected a function"),
  ),
};

const hasOneDatabase = (options: Pick<PostgresTaskProviderOptions, "connectionString" | "pool">): boolean =>
  (options.connectionString === undefined) !== (options.pool === undefined);
const oneDatabase = "expected exactly one of connectionString and pool";

const ProviderOptions: v.GenericSchema<PostgresTaskProviderOptions, PostgresTaskProviderSettings> = v.pipe(
  v.strictObject({ queueName, ...entries }),
  v.check((options) => hasOneDatabase(options), oneDatabase),
);
const MigrateOptions: v.GenericSchema<MigratePostgresTaskQueueOptions, MigratePostgresTaskQueueSettings> =
  v.pipe(
    v.strictObject({ queueName: v.optional(queueName), ...entries }),
    v.check((options) => hasOneDatabase(options), oneDatabase),
  );

/** @throws TaskQueueError `invalid-options` */
export function checkProviderOptions(options: unknown): PostgresTaskProviderSettings {
  const checked = checkOptions(ProviderOptions, options, "create");
  return { ...checked, onError: checked.onError ?? consoleTrouble(checked.queueName) };
}

/** @throws TaskQueueError `invalid-options` */
export function checkMigrateOptions(options: unknown): MigratePostgresTaskQueueSettings {
  return checkOptions(MigrateOptions, options, "migrate");
}

function isPgPool(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const like = value as Readonly<Record<string, unknown>>;
  return (
    typeof like["connect"] === "function" &&
    typeof like["query"] === "function" &&
    typeof like["totalCount"] === "number"
  );
}
