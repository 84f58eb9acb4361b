import { setTimeout as sleep } from "node:timers/promises";
import { databaseFailure } from "../../../plugin/store/database-failure.ts";
import { DatabaseError } from "../../../plugin/store/drivers/database-error.ts";
import type { DriverName, Row, Session, SqlValue } from "../../../plugin/store/drivers/driver.ts";
import { openDriver } from "../../../plugin/store/drivers/open-driver.ts";
import { type BorrowedDriver, type BorrowedPool, borrowDriver } from "./borrowed-pool.ts";

/** Where the records are: a URL, for a pool of our own, or a pool that the caller lends and closes. */
export type RecordDatabaseOptions =
  | { readonly connectionString: string; readonly driver?: DriverName | undefined }
  | { readonly pool: BorrowedPool };

const statementTimeoutMs = 15_000;
/** How much longer than the server's own time-out an answer may take before the connection counts as dead. */
const stallMarginMs = 5000;
const maxTries = 5;

/** The connections to the records. Every statement is answered or refused within a bound, whatever the network does. */
export class RecordDatabase {
  readonly #options: RecordDatabaseOptions;
  #driver: Promise<BorrowedDriver>;
  #closing: Promise<void> | undefined;

  /** Opens nothing yet: connections are made on first use. */
  constructor(options: RecordDatabaseOptions) {
    this.#options = options;
    this.#driver = this.#open();
  }

  /** Runs one statement, which is its own transaction. What PostgreSQL rolled back for its own reasons is tried again. */
  async query(text: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    for (let tried = 1; ; tried += 1) {
      const driver = this.#driver;
      try {
        return await withinBound(driver.then((each) => each.query(text, values)));
      } catch (error) {
        const { retry, reconnect } = databaseFailure(error);
        if (retry && tried < maxTries) {
          await sleep(Math.random() * 10 * 2 ** tried);
          continue;
        }
        const stalled = error instanceof DatabaseError && error.code === "CONNECTION_STALLED";
        if (reconnect || stalled) this.#reopen(driver);
        throw error;
      }
    }
  }

  /** Runs statements in one transaction. */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return (await this.#driver).transaction(work);
  }

  /** Closes our own connections; a borrowed pool stays as it is. Safe twice. */
  close(): Promise<void> {
    this.#closing ??= this.#driver.then(
      (driver) => driver.close(5000),
      () => undefined,
    );
    return this.#closing;
  }

  #open(): Promise<BorrowedDriver> {
    const opening =
      "pool" in this.#options
        ? Promise.resolve(borrowDriver(this.#options.pool))
        : openDriver(this.#options.driver, {
            url: this.#options.connectionString,
            maxConnections: 10,
            settings: {
              application_name: "lenso-tasks",
              search_path: "pg_catalog",
              default_transaction_isolation: "read committed",
              statement_timeout: String(statementTimeoutMs),
              lock_timeout: "10000",
              idle_in_transaction_session_timeout: "60000",
            },
            prepare: true,
            connectTimeoutMs: 10_000,
          });
    opening.catch(() => undefined); // each statement reports it
    return opening;
  }

  /** Replaces our pool, unless somebody did already. A borrowed one is its owner's to heal. */
  #reopen(broken: Promise<BorrowedDriver>): void {
    if (this.#closing || this.#driver !== broken || "pool" in this.#options) return;
    this.#driver = this.#open();
    void broken.then((driver) => driver.close(0));
  }
}

/** A cut link or a frozen server may answer nothing for minutes. */
async function withinBound<T>(answer: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DatabaseError("CONNECTION_STALLED", "no answer")),
      statementTimeoutMs + stallMarginMs,
    );
  });
  try {
    return await Promise.race([answer, stalled]);
  } finally {
    clearTimeout(timer);
  }
}
