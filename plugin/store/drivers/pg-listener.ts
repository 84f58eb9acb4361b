import type { Subscription } from "./driver.ts";

/** What of a `pg` pool and its clients is needed to listen. */
export interface ListeningPool {
  connect(): Promise<ListeningClient>;
}

interface ListeningClient {
  on(event: "notification", listener: (message: Notification) => void): unknown;
  once(event: "end" | "error", listener: () => void): unknown;
  query(text: string): Promise<unknown>;
  release(destroy: boolean): void;
}

interface Notification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** Pauses between attempts to connect again, in ms. */
const firstPauseMs = 100;
const longestPauseMs = 5000;

/** Keeps one client of the pool listening to a channel, and takes another one whenever it is lost. */
export async function listenForEver(
  pool: ListeningPool,
  channel: string,
  onPayload: (payload: string) => void,
  onListening: () => void,
): Promise<Subscription> {
  let closed = false;
  let client: ListeningClient | undefined;
  let pauseMs = firstPauseMs;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const onNotification = (message: Notification): void => {
    if (message.channel === channel) onPayload(message.payload ?? "");
  };
  const connect = async (): Promise<void> => {
    const fresh = await pool.connect();
    try {
      fresh.on("notification", onNotification);
      await fresh.query(`listen "${channel.replaceAll('"', '""')}"`);
    } catch (error) {
      fresh.release(true);
      throw error;
    }
    if (closed) return fresh.release(true);
    client = fresh;
    pauseMs = firstPauseMs;
    fresh.once("end", again);
    fresh.once("error", again);
    onListening();
  };
  const again = (): void => {
    const lost = client;
    client = undefined;
    if (lost === undefined || closed) return;
    lost.release(true);
    retry();
  };
  const retry = (): void => {
    timer = setTimeout(() => {
      connect().catch(() => {
        if (!closed) retry();
      });
    }, pauseMs);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  };

  await connect();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      const last = client;
      client = undefined;
      last?.release(true);
    },
  };
}
