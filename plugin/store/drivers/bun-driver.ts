import type { SQL } from "bun";
import { DatabaseError, isSqlState, urlRefused } from "./database-error.ts";
import type { Driver, DriverOptions, Row, Session, SqlValue } from "./driver.ts";

/** A pool of Bun's own PostgreSQL client. Loaded only under Bun. */
export async function openBunDriver(options: DriverOptions): Promise<Driver> {
  const { SQL } = await import("bun");
  let sql: SQL;
  try {
    sql = new SQL({
      url: options.url,
      adapter: "postgres",
      max: options.maxConnections,
      prepare: options.prepare,
      connectionTimeout: Math.max(1, Math.ceil(options.connectTimeoutMs / 1000)),
      idleTimeout: 0,
      maxLifetime: 0,
      connection: options.settings,
    });
  } catch (error) {
    throw new DatabaseError(urlRefused, error instanceof Error ? error.message : "");
  }
  return {
    query: (text, values) => run(sql, text, values),
    async transaction(work) {
      let ownError: { readonly error: unknown } | undefined;
      try {
        return (await sql.begin((session) =>
          work(sessionOf(session)).catch((error: unknown) => {
            ownError = { error };
            throw error;
          }),
        )) as Awaited<ReturnType<typeof work>>;
      } catch (error) {
        // What `work` rejected with is its caller's, even when it has a `code` that looks like a client's.
        throw ownError?.error === error ? error : translate(error);
      }
    },
    async listen(channel, onPayload, onListening) {
      try {
        const subscription = await sql.listen(channel, onPayload, onListening);
        return { close: () => subscription.unlisten().catch(() => undefined) };
      } catch (error) {
        throw translate(error);
      }
    },
    async close(timeoutMs) {
      await sql.close({ timeout: timeoutMs / 1000 }).catch(() => undefined);
    },
  };
}

function sessionOf(sql: Pick<SQL, "unsafe">): Session {
  return {
    query: (text, values) => run(sql, text, values),
    async script(text) {
      try {
        await sql.unsafe(text).simple();
      } catch (error) {
        throw translate(error);
      }
    },
  };
}

async function run(
  sql: Pick<SQL, "unsafe">,
  text: string,
  values: readonly SqlValue[],
): Promise<readonly Row[]> {
  try {
    return (await sql.unsafe(text, values as SqlValue[])) as Row[];
  } catch (error) {
    throw translate(error);
  }
}

/** Bun puts the SQLSTATE in `errno`; a connection's own trouble has only `code`. */
function translate(error: unknown): unknown {
  if (error instanceof DatabaseError || !(error instanceof Error)) return error;
  const { errno, code } = error as { errno?: unknown; code?: unknown };
  if (typeof errno === "string" && isSqlState(errno)) return new DatabaseError(errno, error.message);
  if (typeof code !== "string") return error;
  return new DatabaseError(code.replace(/^ERR_POSTGRES_/, ""), error.message);
}
