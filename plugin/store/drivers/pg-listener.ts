import type { Subscription } from "./driver.ts";

/** What of a `pg` pool and its clients is needed to listen. */
export interface ListeningPool {
  connect(
    taken: (error: Error | undefined, client: ListeningClient | undefined, release: unknown) => void,
  ): void;
}

interface ListeningClient {
  on(event: "notification", listener: (message: Notification) => void): unknown;
  on(event: "end" | "error", listener: () => void): unknown;
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

/** By callback: a client may break in the very packet that made it ready, and a promise would be a turn too late for a listener. */
function take(pool: ListeningPool): Promise<ListeningClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error ?? new Error("the pool gave no connection"));
      client.on("error", ignore);
      resolve(client);
    });
  });
}

const ignore = (): void => {};

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
    const fresh = await take(pool);
    // For as long as the client exists: one that breaks without a listener ends the process, also while LISTEN is on its way.
    const lost = (): void => {
      if (client === fresh) again();
    };
    fresh.on("error", lost);
    fresh.on("end", lost);
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
