/**
 * What the store needs of a PostgreSQL client, and all that it may use of one.
 *
 * Every parameter is a text or null, cast in the statement (`$1::text::bigint[]`), and every result column is cast there to
 * text, a boolean, a small integer or JSON text. So nothing depends on how a client guesses types, prepared or not.
 */
export interface Driver {
  /** Runs one statement on a connection of the pool. @throws DatabaseError */
  query(text: string, values: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Runs statements on one connection between BEGIN and COMMIT; rolls back when `work` rejects. @throws DatabaseError */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /**
   * Subscribes to a channel on a connection of its own, which heals by itself. `onListening` runs at the start and after
   * each loss, since what was sent meanwhile is gone. @throws DatabaseError
   */
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onListening: () => void,
  ): Promise<Subscription>;
  /** Waits up to `timeoutMs` for statements under way, then cuts every connection. Safe twice. */
  close(timeoutMs: number): Promise<void>;
}

export type SqlValue = string | null;
export type Row = Readonly<Record<string, unknown>>;

/** A channel that is listened to. */
export interface Subscription {
  close(): Promise<void>;
}

/** One connection inside a transaction. */
export interface Session {
  query(text: string, values: readonly SqlValue[]): Promise<readonly Row[]>;
  /** Runs a script of several statements without parameters. */
  script(text: string): Promise<void>;
}

/** How to reach the database. The URL is a secret: a driver keeps it out of every error. */
export interface DriverOptions {
  readonly url: string;
  readonly maxConnections: number;
  /** Server settings of each connection, sent at start-up; empty behind a transaction pooler, which refuses them. */
  readonly settings: Readonly<Record<string, string>>;
  /** False behind a transaction pooler: statements are sent unnamed. */
  readonly prepare: boolean;
  readonly connectTimeoutMs: number;
}

export type DriverName = "bun" | "pg";
