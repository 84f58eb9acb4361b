import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError } from "../store/drivers/database-error.ts";
import { expectedDatabaseUrl, isDatabaseUrl } from "../store/drivers/database-url.ts";
import { faultInUrlOptions } from "../store/drivers/database-url-options.ts";
import type { Driver, Session } from "../store/drivers/driver.ts";
import { driverFor, openDriver } from "../store/drivers/open-driver.ts";
import { isSchemaName } from "../store/schema/identifier.ts";
import { explainFailure } from "./explain-failure.ts";
import { type OperatorCommand, type OperatorOptions, type Refusal, Refused } from "./report.ts";
import { StepFailed } from "./steps.ts";

export interface CommandRun<Command extends OperatorCommand, T> {
  readonly command: Command;
  /** `look` changes nothing: its transaction is read-only and shares the lock with others that look. */
  readonly access: "look" | "change";
  /** Server settings that the connection starts with. A pooler refuses any. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Refuses bad input of this command's own, before the database. */
  refuseInput?(): void;
  /** Runs once for each try, in a transaction of its own. */
  work(session: Session): Promise<T>;
}

const maxTries = 20;

/**
 * Runs a command in one transaction under the schema's advisory lock and turns every failure into a refusal without secrets.
 *
 * A lock that live traffic holds is waited for half a second, so that nothing queues behind the waiting command for longer;
 * then the transaction rolls back and is tried again, up to twenty times.
 */
export async function runCommand<Command extends OperatorCommand, T>(
  options: OperatorOptions,
  run: CommandRun<Command, T>,
): Promise<T | Refusal<Command>> {
  let driver: Driver | undefined;
  try {
    refuseBadInput(options);
    run.refuseInput?.();
    driver = await openDriver(options.driver, {
      url: options.databaseUrl,
      maxConnections: 1,
      settings: run.settings ?? {},
      prepare: false,
      connectTimeoutMs: 10_000,
    });
    return await tryRepeatedly(driver, options.schema, run);
  } catch (error) {
    const { code, message, next } = error instanceof Refused ? error : explainFailure(error);
    return { ok: false, command: run.command, schema: shown(options.schema), code, message, next };
  } finally {
    await driver?.close(1000);
  }
}

async function tryRepeatedly<T>(
  driver: Driver,
  schema: string,
  run: CommandRun<OperatorCommand, T>,
): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await driver.transaction(async (session) => {
        await session.script(openingOf(schema, run.access));
        return run.work(session);
      });
    } catch (error) {
      if (tried === maxTries || !mayPass(error)) throw error;
    }
    await sleep(50 + Math.random() * 200);
  }
}

/** What opens a command's transaction, as `plan` prints it. */
export function openingOf(schema: string, access: "look" | "change"): string {
  const change = access === "change";
  return `set transaction isolation level read committed, ${change ? "read write" : "read only"};
set local search_path = pg_catalog, pg_temp;
set local statement_timeout = ${change ? "0" : "'30s'"};
set local idle_in_transaction_session_timeout = '60s';
set local lock_timeout = '30s';
select pg_advisory_xact_lock${change ? "" : "_shared"}(${lockKey(schema)});
set local lock_timeout = '500ms';`;
}

/** PostgreSQL keeps advisory locks by database, so that the schema is all that the key has to hold. */
function lockKey(schema: string): string {
  return createHash("sha256").update(`lenso-jobs\0${schema}`).digest().readBigInt64BE(0).toString();
}

/** What other transactions caused and may not cause again. Waiting for the advisory lock is not tried again. */
function mayPass(error: unknown): boolean {
  const failure = error instanceof StepFailed ? error.failure : error;
  if (!(failure instanceof DatabaseError)) return false;
  if (failure.code === "40001" || failure.code === "40P01") return true;
  if (!(error instanceof StepFailed)) return false;
  // Somebody created the schema between our look and our step: the next look sees it.
  const createdMeanwhile =
    error.step.kind === "schema" && (failure.code === "42P06" || failure.code === "23505");
  return failure.code === "55P03" || createdMeanwhile;
}

function refuseBadInput(options: OperatorOptions): void {
  if (!isSchemaName(options.schema)) {
    throw new Refused(
      "invalid_input",
      `schema: expected a-z, 0-9 and _, at most 63, a letter first, and not public, information_schema or pg_…; got ${shown(options.schema)}`,
    );
  }
  if (!isDatabaseUrl(options.databaseUrl)) {
    throw new Refused(
      "invalid_input",
      `database URL: expected ${expectedDatabaseUrl}; got something else, which is not shown`,
    );
  }
  const fault = faultInUrlOptions(options.databaseUrl, driverFor(options.driver));
  if (fault !== undefined) throw new Refused("invalid_input", `database URL: its ${fault}`);
}

/** What came in a schema's place and is not even like a name may be a secret, so it is only counted. */
function shown(schema: string): string {
  return /^[\w-]{1,63}$/.test(schema) ? schema : `(${schema.length} characters)`;
}
