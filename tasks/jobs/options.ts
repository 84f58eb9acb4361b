import * as v from "valibot";
import type { JobsClient, SignalsClient } from "../../capability/index.ts";
import { expectedDatabaseUrl, isDatabaseUrl } from "../../plugin/store/drivers/database-url.ts";
import { isRoleName, isSchemaName } from "../../plugin/store/schema/identifier.ts";
import { checkOptions, integer } from "../check-options.ts";
import { consoleTrouble } from "../console-logger.ts";
import { type BorrowedPool, isBorrowedPool } from "./records/borrowed-pool.ts";
import type { RecordDatabaseOptions } from "./records/record-database.ts";

/** Where the records are kept: exactly one of `connectionString` and `pool`. */
export interface JobsTaskDatabase {
  /** A PostgreSQL URL, for a pool of the provider's own. */
  readonly connectionString?: string;
  /**
   * A `pg.Pool` or a `Bun.SQL` that stays the caller's: it is never closed. Handlers may hold all of it: a provider with a worker has
   * up to 4 connections of its own beside it, with its settings, of which one listens.
   */
  readonly pool?: BorrowedPool;
  /** PostgreSQL schema of the records, made by `migrateJobsTaskQueue`. Renaming it later is a data move. Default `tasks`. */
  readonly schema?: string;
  /** PostgreSQL client behind `connectionString`. Default: Bun's own under Bun, otherwise the npm package `pg`. */
  readonly driver?: "bun" | "pg";
}

/** What {@link createJobsTaskProvider} needs. */
export interface JobsTaskProviderOptions extends JobsTaskDatabase {
  /** The bound `lenso.jobs@1`, from `createJobsClient`. To start a worker, its Instance must be producer and worker there. */
  readonly jobs: JobsClient;
  /** A configured queue of the Jobs Instance, used by nothing else. Queues of different names share no durable work. */
  readonly queue: string;
  /** The `lease_seconds` of the Jobs Instance. Checked against the first lease: another length is an `invalid-options` of the worker. */
  readonly leaseSeconds: number;
  /** The bound `lenso.jobs-signals@1`, so that an idle worker need not wait for the next poll. */
  readonly signals?: SignalsClient;
  /** How often an idle worker asks for jobs, in ms, 50..60 000. The safety net where signals are bound. Default 1000. */
  readonly pollIntervalMs?: number;
  /** How long a finished job stays readable, in seconds. Its deduplication key stays used for ever. Default 604 800 (a week). */
  readonly retentionSeconds?: number;
  /**
   * How often each process with a worker looks for jobs that were recorded and not dispatched, or whose dispatch was lost, in seconds.
   * A job enqueued in a caller's transaction may wait that long after the commit. Default 1.
   */
  readonly sweepIntervalSeconds?: number;
  /**
   * Told what went wrong in the background, once each time it begins. Jobs survive it. Default: one line on `console.error`, with the
   * error's class and code. A function that does nothing is silence.
   */
  readonly onError?: (error: unknown) => void;
}

const text = (wanted: string, check: (value: string) => boolean) =>
  v.pipe(v.string(wanted), v.check(check, wanted));
const withMethods = <T>(wanted: string, ...methods: readonly string[]) =>
  v.custom<T>(
    (value) =>
      typeof value === "object" &&
      value !== null &&
      methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function"),
    wanted,
  );
const oneSource = <T extends { connectionString?: string | undefined; pool?: unknown }>(
  options: T,
): boolean => (options.connectionString === undefined) !== (options.pool === undefined);
const expectedSource = "expected exactly one of connectionString and pool";

const database = {
  connectionString: v.exactOptional(text(`expected ${expectedDatabaseUrl}`, isDatabaseUrl)),
  pool: v.exactOptional(v.custom<BorrowedPool>(isBorrowedPool, "expected a pg.Pool or a Bun.SQL")),
  schema: v.optional(
    text(
      "expected a-z, 0-9 and _, at most 63, a letter first, and not public, information_schema or pg_…",
      isSchemaName,
    ),
    "tasks",
  ),
  driver: v.exactOptional(v.picklist(["bun", "pg"], 'expected "bun" or "pg"')),
};

const provider = v.strictObject({
  ...database,
  jobs: withMethods<JobsClient>(
    "expected a client of lenso.jobs@1",
    "claim",
    "complete",
    "enqueue",
    "fail",
    "inspect",
    "renew",
  ),
  queue: text("expected 1..128 of A-Z a-z 0-9 . _ - : /", (name) => /^[A-Za-z0-9._:/-]{1,128}$/.test(name)),
  leaseSeconds: integer(1, 3600),
  signals: v.exactOptional(withMethods<SignalsClient>("expected a client of lenso.jobs-signals@1", "wait")),
  pollIntervalMs: v.optional(integer(50, 60_000), 1000),
  retentionSeconds: v.optional(integer(1, 3_153_600_000), 604_800),
  sweepIntervalSeconds: v.optional(integer(1, 3600), 1),
  onError: v.exactOptional(
    v.custom<(error: unknown) => void>((value) => typeof value === "function", "expected a function"),
  ),
});

const providerOptions = v.pipe(provider, v.check(oneSource, expectedSource));
const migrateOptions = v.pipe(
  v.strictObject({
    ...v.partial(provider).entries,
    ...database,
    runtimeRole: v.exactOptional(
      text(
        "expected a role name of 1..63 bytes without control characters, and not public, none or pg_…",
        isRoleName,
      ),
    ),
  }),
  v.check(oneSource, expectedSource),
);

type WithDefaults = "schema" | "pollIntervalMs" | "retentionSeconds" | "sweepIntervalSeconds";
/** The provider's options with their defaults. */
export type CheckedProviderOptions = JobsTaskProviderOptions &
  Required<Pick<JobsTaskProviderOptions, WithDefaults>>;
type CheckedMigration = JobsTaskDatabase &
  Required<Pick<JobsTaskDatabase, "schema">> & { readonly runtimeRole?: string };

/** @throws TaskQueueError `invalid-options` */
export function checkProviderOptions(options: JobsTaskProviderOptions): CheckedProviderOptions {
  const checked = checkOptions(providerOptions, options, "create");
  return { ...checked, onError: checked.onError ?? consoleTrouble(checked.queue) };
}

/** The options of the migration; those of the provider fit as well, so that one object serves both. @throws TaskQueueError `invalid-options` */
export function checkMigrateOptions(options: JobsTaskDatabase): CheckedMigration {
  return checkOptions(migrateOptions, options, "migrate");
}

/** The part of checked options that says where the records are. */
export function databaseOf({ pool, connectionString, driver }: JobsTaskDatabase): RecordDatabaseOptions {
  if (pool !== undefined) return { pool };
  return { connectionString: connectionString as string, driver };
}
