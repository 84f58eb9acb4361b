import { setTimeout as sleep } from "node:timers/promises";
import { databaseFailure } from "../../../plugin/store/database-failure.ts";
import { DatabaseError } from "../../../plugin/store/drivers/database-error.ts";
import type {
  DriverName,
  Row,
  Session,
  SqlValue,
  Subscription,
} from "../../../plugin/store/drivers/driver.ts";
import { openDriver } from "../../../plugin/store/drivers/open-driver.ts";
import { SafeCause } from "../../task-queue-error.ts";
import { type BorrowedDriver, type BorrowedPool, borrowDriver } from "./borrowed-pool.ts";
import { openDriverBeside } from "./driver-beside.ts";

/**
 * Where the records are: a URL, for a pool of our own; a pool that the caller lends and closes; or a few connections of our own beside
 * such a pool, with its settings.
 */
export type RecordDatabaseOptions =
  | {
      readonly connectionString: string;
      readonly driver?: DriverName | undefined;
      /** How the connections are named on the server. Default `lenso-tasks`. */
      readonly applicationName?: string;
    }
  | { readonly pool: BorrowedPool }
  | { readonly beside: BorrowedPool };

const statementTimeoutMs = 15_000;
/** How much longer than the server's own time-out an answer may take before the connection counts as dead. */
const stallMarginMs = 5000;
const maxTries = 5;
/** A text each, since a client makes nothing of a void. */
const holdLock = `select set_config('idle_in_transaction_session_timeout', '5s', true) as bound,
  pg_advisory_xact_lock($1::text::bigint)::text as held`;

/** What one that listens is told. */
export interface Hears {
  onPayload(payload: string): void;
  /** At the start and after each loss that the connection healed by itself: what was sent meanwhile is gone. */
  onListening(): void;
  /** The connections have been replaced, and this subscription with them. */
  onLost(): void;
}

/** The records were closed by their owner: no statement is sent any more, and asking again is of no use. */
export class RecordsClosed extends SafeCause {
  override readonly name = "RecordsClosed";

  constructor() {
    super("the connections to the records are closed");
  }
}

/** The connections to the records. Every statement is answered or refused within a bound, whatever the network does. */
export class RecordDatabase {
  readonly #options: RecordDatabaseOptions;
  #driver: Promise<BorrowedDriver>;
  #closing: Promise<void> | undefined;
  readonly #listening = new Set<Hears>();

  /** Opens nothing yet: connections are made on first use. */
  constructor(options: RecordDatabaseOptions) {
    this.#options = options;
    this.#driver = this.#open();
  }

  /**
   * Runs one statement, which is its own transaction. What PostgreSQL rolled back for its own reasons is tried again.
   *
   * @throws DatabaseError, and RecordsClosed after `close`
   */
  query(text: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    return this.#tried((driver) => withinBound(driver.then((each) => each.query(text, values))));
  }

  /**
   * Runs statements in one transaction, which holds an advisory lock (a 64-bit integer as text) from before the first of them until it has
   * ended. A client that dies or freezes in between loses it after five seconds. Tried again as `query` does.
   *
   * @throws DatabaseError, and RecordsClosed after `close`
   */
  alone<T>(lock: string, work: (session: Pick<Session, "query">) => Promise<T>): Promise<T> {
    return this.#tried(async (driver) => {
      let isOver = false;
      const answer = driver.then((each) =>
        each.transaction(async (session) => {
          await session.query(holdLock, [lock]);
          if (isOver) throw noAnswer(); // the caller was told so, and a link that comes back changes nothing
          return work(session);
        }),
      );
      try {
        return await withinBound(answer, 2 * statementTimeoutMs); // the wait for the lock, and the work
      } finally {
        isOver = true;
      }
    });
  }

  async #tried<T>(work: (driver: Promise<BorrowedDriver>) => Promise<T>): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      if (this.#closing) throw new RecordsClosed();
      const driver = this.#driver;
      try {
        return await work(driver);
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

  /** Listens on a connection of our own. @throws DatabaseError, also for a borrowed pool, which may have none to spare */
  async listen(channel: string, hears: Hears): Promise<Subscription> {
    const opening = this.#driver;
    const subscribing = opening.then((driver) => {
      if (driver.listen === undefined)
        throw new DatabaseError("FEATURE_NOT_SUPPORTED", "a borrowed pool does not listen");
      return driver.listen(channel, hears.onPayload, hears.onListening);
    });
    const subscription = await withinBound(subscribing).catch((error: unknown) => {
      void subscribing.then(
        (late) => late.close(),
        () => undefined,
      );
      throw error;
    });
    this.#listening.add(hears);
    if (this.#driver !== opening) hears.onLost();
    return {
      close: () => {
        this.#listening.delete(hears);
        return subscription.close();
      },
    };
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
    const opening = openRecordDriver(this.#options);
    opening.catch(() => undefined); // each statement reports it
    return opening;
  }

  /** Replaces connections of our own, unless somebody did already. A borrowed pool is its owner's to heal. */
  #reopen(broken: Promise<BorrowedDriver>): void {
    if (this.#closing || this.#driver !== broken || "pool" in this.#options) return;
    this.#driver = this.#open();
    void broken.then((driver) => driver.close(0));
    for (const { onLost } of this.#listening) onLost();
  }
}

async function openRecordDriver(options: RecordDatabaseOptions): Promise<BorrowedDriver> {
  if ("pool" in options) return borrowDriver(options.pool);
  if ("beside" in options) return openDriverBeside(options.beside);
  return openDriver(options.driver, {
    url: options.connectionString,
    maxConnections: 10,
    settings: {
      application_name: options.applicationName ?? "lenso-tasks",
      search_path: "pg_catalog",
      default_transaction_isolation: "read committed",
      statement_timeout: String(statementTimeoutMs),
      lock_timeout: "10000",
      idle_in_transaction_session_timeout: "60000",
    },
    prepare: true,
    connectTimeoutMs: 10_000,
  });
}

/** A cut link or a frozen server may answer nothing for minutes. */
async function withinBound<T>(answer: Promise<T>, statementMs: number = statementTimeoutMs): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(noAnswer()), statementMs + stallMarginMs);
  });
  try {
    return await Promise.race([answer, stalled]);
  } finally {
    clearTimeout(timer);
  }
}

function noAnswer(): DatabaseError {
  return new DatabaseError("CONNECTION_STALLED", "no answer");
}
