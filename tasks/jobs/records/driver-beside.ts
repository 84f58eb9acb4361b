import { setTimeout as sleep } from "node:timers/promises";
import type { Driver } from "../../../plugin/store/drivers/driver.ts";
import { listenForEver } from "../../../plugin/store/drivers/pg-listener.ts";
import { type BorrowedDriver, type BorrowedPool, borrowDriver, isPgPool } from "./borrowed-pool.ts";

/** So many that one that waits for a row holds up nobody else, and one that listens. */
const connections = 4;

/** What a pool of either kind is made of again: its own class, with its own settings. */
interface Remade {
  readonly constructor: new (options: object) => BorrowedPool & Closing;
  readonly options: { readonly password?: unknown };
}

interface Closing {
  /** Of a `pg.Pool`. */
  end?(): Promise<void>;
  on?(event: "error", listener: () => void): void;
  /** Of a `Bun.SQL`. */
  listen?(
    channel: string,
    onPayload: (payload: string) => void,
    onListening: () => void,
  ): Promise<{ unlisten(): Promise<void> }>;
  close?(options: { readonly timeout: number }): Promise<void>;
}

/**
 * A few connections with the settings of a borrowed pool, but ours: whoever holds all of that one, a heartbeat still gets through.
 * Connects lazily.
 */
export function openDriverBeside(borrowed: BorrowedPool): BorrowedDriver {
  const { constructor: Pool, options } = borrowed as unknown as Remade;
  // The password is not enumerable in the options of a pg.Pool.
  const { password } = options;
  const settings = { ...options, ...(password === undefined ? {} : { password }), max: connections };
  const pool = new Pool(
    isPgPool(borrowed) ? { ...settings, min: 0, connectionTimeoutMillis: 10_000 } : settings,
  );
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  if (isPgPool(pool)) pool.on?.("error", () => undefined);
  return {
    ...borrowDriver(pool),
    listen: listenOn(pool),
    async close(timeoutMs) {
      const closed = new AbortController();
      const close = isPgPool(pool) ? pool.end?.() : pool.close?.({ timeout: timeoutMs / 1000 });
      const timeUp = sleep(timeoutMs, undefined, { signal: closed.signal });
      await Promise.race([close, timeUp]).catch(() => undefined);
      closed.abort();
      await timeUp.catch(() => undefined);
    },
  };
}

function listenOn(pool: BorrowedPool & Closing): Driver["listen"] {
  return async (channel, onPayload, onListening) => {
    if (isPgPool(pool)) return listenForEver(pool, channel, onPayload, onListening);
    const subscription = await pool.listen?.(channel, onPayload, onListening);
    return { close: async () => subscription?.unlisten().catch(() => undefined) };
  };
}
