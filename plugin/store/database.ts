import { RuntimeFailureError } from "../../capability/index.ts";
import { databaseFailure } from "./database-failure.ts";
import { DatabaseError } from "./drivers/database-error.ts";
import type { Driver, DriverName, Row, SqlValue, Subscription } from "./drivers/driver.ts";
import { openDriver } from "./drivers/open-driver.ts";
import { sessionSettings } from "./session-settings.ts";

/**
 * Connections are kept apart by what they wait for, since statements on one connection queue behind each other: `hot` and those of claims never
 * wait for a row that somebody holds, `lock` may, `side` is for looking and for maintenance.
 */
export type Lane = "hot" | ClaimLane | "lock" | "side";

const claimLanes = ["claims-1", "claims-2"] as const;
export type ClaimLane = (typeof claimLanes)[number];

/**
 * Where a queue's claims are sent: always the same lane, of one connection. So a claim that follows another on its way begins when that one
 * has committed. Beside each other the second would try the lock of every row that the first is taking, a quarter of the server's work in a drain.
 */
export function claimLaneOf(queueHash: string): ClaimLane {
  return claimLanes[Number(queueHash.at(-1)) % claimLanes.length] as ClaimLane;
}

/** Waits at once, each on its own connection of the lock lane: of renew, complete and fail for leases, of enqueue for keys. */
export const lockConnections = { leases: 2, keys: 2 };

interface LaneSettings {
  readonly connections: number;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
}

const claims: LaneSettings = { connections: 1, statementTimeoutMs: 15_000, lockTimeoutMs: 1000 };
const lanes: Readonly<Record<Lane, LaneSettings>> = {
  hot: { connections: 4, statementTimeoutMs: 15_000, lockTimeoutMs: 1000 },
  "claims-1": claims,
  "claims-2": claims,
  lock: {
    connections: 3 * lockConnections.leases + lockConnections.keys,
    statementTimeoutMs: 15_000,
    lockTimeoutMs: 5000,
  },
  // One of them may be listening.
  side: { connections: 3, statementTimeoutMs: 30_000, lockTimeoutMs: 1000 },
};
/** How much longer than the server's own time-out an answer may take before the connection counts as dead. */
const stallMarginMs = 5000;
const maxTries = 5;

export interface DatabaseOptions {
  readonly driver: DriverName | undefined;
  readonly transactionPooler: boolean;
  /** Finds the database URL, anew each time: the secret may be rotated. */
  resolveUrl(): Promise<string>;
}

/** The Instance's connections to PostgreSQL. Heals by itself: lost connections, failover, rotated passwords, stalled links. */
export class Database {
  readonly #options: DatabaseOptions;
  #url: string;
  #drivers: Record<Lane, Driver>;
  #closed = false;
  #refreshing: Promise<void> | undefined;
  #refreshAfter = 0;
  #refreshDelayMs = 1000;
  readonly #watched = new Set<Watch>();
  #watcher: ReturnType<typeof setInterval> | undefined;

  private constructor(options: DatabaseOptions, url: string, drivers: Record<Lane, Driver>) {
    this.#options = options;
    this.#url = url;
    this.#drivers = drivers;
  }

  /** Opens the pools; connections are made on first use. @throws RuntimeFailureError when the URL is unusable. */
  static async open(options: DatabaseOptions): Promise<Database> {
    const url = await options.resolveUrl();
    return new Database(options, url, await openLanes(options, url));
  }

  /** The driver of a lane, for work that needs a transaction. */
  driver(lane: Lane): Driver {
    return this.#drivers[lane];
  }

  /**
   * Runs one statement, which is its own transaction. Tries again what PostgreSQL rolled back for its own reasons.
   *
   * @throws DatabaseError in all other cases, within the lane's time limit whatever the network does.
   */
  async query(lane: Lane, text: string, values: readonly SqlValue[]): Promise<readonly Row[]> {
    for (let tried = 1; ; tried += 1) {
      const driver = this.#drivers[lane];
      try {
        return await this.#watch(lane, driver.query(text, values));
      } catch (error) {
        const failure = databaseFailure(error);
        if (failure.retry && tried < maxTries) {
          await pause(Math.random() * 10 * 2 ** tried);
          continue;
        }
        if (failure.credentials) this.#refreshCredentials();
        if (failure.reconnect) this.#reopen(lane, driver);
        throw error;
      }
    }
  }

  /** Subscribes to a channel, on a connection of its own. @throws DatabaseError */
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onListening: () => void,
  ): Promise<Subscription> {
    return this.#drivers.side.listen(channel, onPayload, onListening);
  }

  /** Waits up to `timeoutMs` for statements under way, then cuts the connections. Safe twice. */
  async close(timeoutMs: number): Promise<void> {
    this.#closed = true;
    await Promise.all(Object.values(this.#drivers).map((driver) => driver.close(timeoutMs)));
    clearInterval(this.#watcher);
    this.#watcher = undefined;
  }

  /** A cut link or a frozen server answers nothing for minutes; one coarse timer for all statements notices it. */
  #watch(lane: Lane, answer: Promise<readonly Row[]>): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      const limit = lanes[lane].statementTimeoutMs + stallMarginMs;
      const watch: Watch = { lane, driver: this.#drivers[lane], endsAt: performance.now() + limit, reject };
      this.#watched.add(watch);
      this.#watcher ??= setInterval(() => this.#cutStalled(), 1000);
      answer.then(resolve, reject).finally(() => {
        this.#watched.delete(watch);
      });
    });
  }

  #cutStalled(): void {
    if (this.#watched.size === 0) {
      clearInterval(this.#watcher);
      this.#watcher = undefined;
      return;
    }
    const now = performance.now();
    for (const watch of this.#watched) {
      if (watch.endsAt > now) continue;
      this.#watched.delete(watch);
      watch.reject(new DatabaseError("CONNECTION_STALLED", "no answer"));
      this.#reopen(watch.lane, watch.driver);
    }
  }

  /** Replaces a lane's pool, unless somebody did already. */
  #reopen(lane: Lane, broken: Driver): void {
    if (this.#closed || this.#drivers[lane] !== broken) return;
    const fresh = openLane(this.#options, this.#url, lane);
    this.#drivers[lane] = deferred(fresh);
    void broken.close(0);
  }

  #refreshCredentials(): void {
    if (this.#closed || this.#refreshing || performance.now() < this.#refreshAfter) return;
    this.#refreshing = this.#tryNewUrl().finally(() => {
      this.#refreshAfter = performance.now() + this.#refreshDelayMs;
      this.#refreshDelayMs = Math.min(this.#refreshDelayMs * 2, 60_000);
      this.#refreshing = undefined;
    });
  }

  async #tryNewUrl(): Promise<void> {
    const url = await this.#options.resolveUrl().catch(() => this.#url);
    if (url === this.#url || this.#closed) return;
    this.#url = url;
    this.#refreshDelayMs = 1000;
    for (const lane of Object.keys(lanes) as Lane[]) this.#reopen(lane, this.#drivers[lane]);
  }
}

interface Watch {
  readonly lane: Lane;
  readonly driver: Driver;
  readonly endsAt: number;
  reject(reason: DatabaseError): void;
}

async function openLanes(options: DatabaseOptions, url: string): Promise<Record<Lane, Driver>> {
  const open = async (lane: Lane) => [lane, await openLane(options, url, lane)] as const;
  const opened = await Promise.all((Object.keys(lanes) as Lane[]).map(open));
  return Object.fromEntries(opened) as Record<Lane, Driver>;
}

async function openLane(options: DatabaseOptions, url: string, lane: Lane): Promise<Driver> {
  try {
    return await openDriver(options.driver, {
      url,
      maxConnections: lanes[lane].connections,
      settings: options.transactionPooler ? {} : sessionSettings(lanes[lane]),
      prepare: !options.transactionPooler,
      connectTimeoutMs: 10_000,
    });
  } catch (error) {
    // What a client says of a URL may quote it.
    const reason =
      error instanceof Error && error.message.startsWith('driver "pg"')
        ? error.message
        : "the client refuses the database URL, most likely its options behind the ?";
    throw new RuntimeFailureError("invalid_resolved_plan", reason);
  }
}

/** A driver that is still being opened. */
function deferred(opening: Promise<Driver>): Driver {
  opening.catch(() => undefined);
  return {
    query: async (text, values) => (await opening).query(text, values),
    transaction: async (work) => (await opening).transaction(work),
    listen: async (channel, onPayload, onListening) =>
      (await opening).listen(channel, onPayload, onListening),
    close: async (timeoutMs) => (await opening.catch(() => undefined))?.close(timeoutMs),
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
