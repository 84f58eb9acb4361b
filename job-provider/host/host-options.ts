import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as v from "valibot";
import type { JobsClient, SignalsClient } from "../../capability/index.ts";
import { expectedDatabaseUrl, isDatabaseUrl } from "../../plugin/store/drivers/database-url.ts";
import { isRoleName, isSchemaName } from "../../plugin/store/schema/identifier.ts";
import { describeIssue, having, integer, withoutUndefined } from "../../tasks/check-options.ts";
import { type BorrowedPool, isBorrowedPool } from "../../tasks/jobs/records/borrowed-pool.ts";
import type { RecordDatabaseOptions } from "../../tasks/jobs/records/record-database.ts";
import type { JobArtifactStore } from "../ports/job-artifact-store.ts";
import type { JobRevisionStore } from "../ports/job-revision-store.ts";
import type { JobProviderDescriptor } from "../provider/job-provider-descriptor.ts";
import type { JobFact } from "../provider/job-requirement.ts";
import { JobHostError } from "./job-host-error.ts";

/** Where the records are kept: exactly one of `connectionString` and `pool`. */
export interface JobHostDatabase {
  /** A PostgreSQL URL, for a pool of the host's own. */
  readonly connectionString?: string;
  /**
   * A `pg.Pool` or a `Bun.SQL` that stays the caller's: it is never closed. Attempts may hold all of it: a host has up to 4 connections of its
   * own beside it, with its settings, of which one listens.
   */
  readonly pool?: BorrowedPool;
  /** PostgreSQL schema of the records, made by `migrateJobHost`. Renaming it later is a data move. Default `job_host`. */
  readonly schema?: string;
  /** PostgreSQL client behind `connectionString`. Default: Bun's own under Bun, otherwise the npm package `pg`. */
  readonly driver?: "bun" | "pg";
}

/** What a job host is made of. */
export interface JobHostOptions {
  /** The host's name in every reference, 1..256 characters, none of them a control character. Never to be changed while it has jobs. */
  readonly hostId: string;
  readonly database: JobHostDatabase;
  /** The bound `lenso.jobs@1`, from `createJobsClient`. To start a worker, its Instance must be producer and worker there. */
  readonly jobs: JobsClient;
  /** A configured queue of the Jobs Instance, used by nothing else. */
  readonly queue: string;
  /** The `lease_seconds` of the Jobs Instance. Checked against the first lease. */
  readonly leaseSeconds: number;
  /**
   * What the factories returned, ids unique. A job is run and asked by the provider of its id as the host has it now: a new version has to
   * understand the jobs that an older one accepted.
   */
  readonly providers: readonly JobProviderDescriptor[];
  readonly revisions: JobRevisionStore;
  readonly artifacts: JobArtifactStore;
  /** The host's facts, against which requirements are matched. Default: none. */
  readonly capabilities?: Readonly<Record<string, JobFact>>;
  /**
   * Where attempts have their workspaces, absolute. Fast and large. Hosts may share it: each has a folder of its own in there, made when it is
   * not there. Default: a folder of the system's temporary one.
   */
  readonly workspaceDirectory?: string;
  /** The bound `lenso.jobs-signals@1`, so that an idle worker need not wait for the next poll. */
  readonly signals?: SignalsClient;
  /** How often an idle worker asks for jobs and a watch looks for events, in ms, 50..60 000: the safety net of both. Default 1000. */
  readonly pollIntervalMs?: number;
  /** How often each process with a worker looks for jobs that were accepted and not dispatched, or whose dispatch was lost, in seconds. Default 1. */
  readonly sweepIntervalSeconds?: number;
  /** Most lines of a job's log, 1..1 000 000; one more says that others were dropped. Default 10 000. */
  readonly logLimit?: number;
  /**
   * Told what went wrong in the background, once each time it begins; jobs survive it. And of each failure of a provider, as a
   * `JobProviderFailure` whose `cause` is what the provider threw: nothing else has its words, so without this nobody learns them.
   */
  readonly onError?: (error: unknown) => void;
}

const text = (wanted: string, check: (value: string) => boolean) =>
  v.pipe(v.string(wanted), v.check(check, wanted));
const oneSource = <T extends { connectionString?: string | undefined; pool?: unknown }>(
  options: T,
): boolean => (options.connectionString === undefined) !== (options.pool === undefined);
const expectedSource = "expected exactly one of connectionString and pool";

const databaseEntries = {
  connectionString: v.exactOptional(text(`expected ${expectedDatabaseUrl}`, isDatabaseUrl)),
  pool: v.exactOptional(v.custom<BorrowedPool>(isBorrowedPool, "expected a pg.Pool or a Bun.SQL")),
  schema: v.optional(
    text(
      "expected a-z, 0-9 and _, at most 63, a letter first, and not public, information_schema or pg_…",
      isSchemaName,
    ),
    "job_host",
  ),
  driver: v.exactOptional(v.picklist(["bun", "pg"], 'expected "bun" or "pg"')),
};

const isHostId = (id: string): boolean =>
  id.length >= 1 && id.length <= 256 && id.isWellFormed() && !/\p{Cc}/u.test(id);
const isFact = (value: unknown): value is JobFact =>
  typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

const hostOptions = v.strictObject({
  hostId: text("expected 1..256 well-formed characters, none of them a control character", isHostId),
  database: v.pipe(v.strictObject(databaseEntries), v.check(oneSource, expectedSource)),
  jobs: having<JobsClient>("a client of lenso.jobs@1", [
    "claim",
    "complete",
    "enqueue",
    "fail",
    "inspect",
    "renew",
  ]),
  queue: text("expected 1..128 of A-Z a-z 0-9 . _ - : /", (name) => /^[A-Za-z0-9._:/-]{1,128}$/.test(name)),
  leaseSeconds: integer(1, 3600),
  providers: v.array(
    v.custom<JobProviderDescriptor>(
      (value) => typeof value === "object" && value !== null,
      "expected what a provider's factory returned",
    ),
    "expected an array",
  ),
  revisions: having<JobRevisionStore>("a JobRevisionStore", ["list", "read", "seal"]),
  artifacts: having<JobArtifactStore>("a JobArtifactStore", ["put", "read", "has"]),
  capabilities: v.optional(
    v.record(
      v.string(),
      v.custom<JobFact>(isFact, "expected a text, a boolean or a finite number"),
      "expected an object of facts",
    ),
    {},
  ),
  workspaceDirectory: v.optional(text("expected an absolute path", isAbsolute), () =>
    join(tmpdir(), "lenso-job-host"),
  ),
  signals: v.exactOptional(having<SignalsClient>("a client of lenso.jobs-signals@1", ["wait"])),
  pollIntervalMs: v.optional(integer(50, 60_000), 1000),
  sweepIntervalSeconds: v.optional(integer(1, 3600), 1),
  logLimit: v.optional(integer(1, 1_000_000), 10_000),
  onError: v.exactOptional(
    v.custom<(error: unknown) => void>((value) => typeof value === "function", "expected a function"),
  ),
});

const migrateOptions = v.pipe(
  v.strictObject({
    ...databaseEntries,
    runtimeRole: v.exactOptional(
      text(
        "expected a role name of 1..63 bytes without control characters, and not public, none or pg_…",
        isRoleName,
      ),
    ),
  }),
  v.check(oneSource, expectedSource),
);

/** The options with their defaults. */
export type CheckedJobHostOptions = JobHostOptions &
  Required<Pick<JobHostOptions, WithDefaults>> & { readonly database: CheckedDatabase };
type WithDefaults =
  | "capabilities"
  | "workspaceDirectory"
  | "pollIntervalMs"
  | "sweepIntervalSeconds"
  | "logLimit";
type CheckedDatabase = JobHostDatabase & Required<Pick<JobHostDatabase, "schema">>;

/** @throws JobHostError `invalid-options`; `cause` names the key, what was expected and what arrived */
export function checkJobHostOptions(options: JobHostOptions): CheckedJobHostOptions {
  return check(hostOptions, { ...options, database: withoutUndefined(options.database) });
}

/** @throws JobHostError `invalid-options` */
export function checkMigrateJobHostOptions(
  options: JobHostDatabase,
): CheckedDatabase & { readonly runtimeRole?: string } {
  return check(migrateOptions, options);
}

/** The part of checked options that says where the records are. */
export function recordsOf({ pool, connectionString, driver }: JobHostDatabase): RecordDatabaseOptions {
  if (pool !== undefined) return { pool };
  return { connectionString: connectionString as string, driver, applicationName: "lenso-job-host" };
}

function check<Schema extends v.GenericSchema>(schema: Schema, options: unknown): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, withoutUndefined(options));
  if (parsed.success) return parsed.output;
  throw new JobHostError("invalid-options", { cause: new TypeError(describeIssue(parsed.issues, schema)) });
}
