import type { Client } from "pg";
import { withDeadline } from "./with-deadline.ts";

const aliveEveryMs = 10_000;
const answerWithinMs = 5_000;
const longestPauseMs = 30_000;

export interface ListenerOptions {
  readonly channel: string;
  readonly newClient: () => Client;
  /** Called with each payload, and with undefined after each (re)connection: something may have been missed. */
  readonly onWake: (payload: string | undefined) => void;
  /** Told once when the listener is lost, not at every failed reconnection. */
  readonly onError: (error: unknown) => void;
}

/**
 * Listens on a connection of its own, for as long as it takes: a connection that breaks, falls silent or has forgotten its LISTEN
 * (as behind a transaction pooler) is replaced. Meanwhile polling goes on. Never in a transaction.
 */
export function startListener(options: ListenerOptions): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  let current: Client | undefined;
  const loop = (async () => {
    let failures = 0;
    while (!signal.aborted) {
      const client = options.newClient();
      current = client;
      try {
        await listen(client, options, signal, () => {
          failures = 0;
        });
      } catch (error) {
        if (!signal.aborted && failures === 0) options.onError(error);
        failures += 1;
      } finally {
        await endQuietly(client);
      }
      const pause = Math.min(longestPauseMs, 500 * 2 ** Math.min(failures, 6)) * (0.5 + Math.random() / 2);
      if (!signal.aborted) await sleep(pause, signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      if (current) await endQuietly(current);
      await loop;
    },
  };
}

async function listen(
  client: Client,
  { channel, onWake }: ListenerOptions,
  signal: AbortSignal,
  connected: () => void,
): Promise<void> {
  const broken = new Promise<never>((_, reject) => {
    client.on("error", reject);
    client.on("end", () => reject(new Error("the listening connection ended")));
  });
  broken.catch(() => {});
  client.on("notification", (message) => onWake(message.payload));
  await withDeadline(client.connect(), answerWithinMs, "the listener could not connect");
  await withDeadline(client.query(`listen "${channel}"`), answerWithinMs, "LISTEN was not answered");
  onWake(undefined);
  for (let first = true; !signal.aborted; first = false) {
    await Promise.race([sleep(first ? 0 : aliveEveryMs, signal), broken]);
    if (signal.aborted) return;
    const { rows } = await withDeadline(
      client.query("select 1 from pg_listening_channels() as c(name) where name = $1", [channel]),
      answerWithinMs,
      "the listener is not answered",
    );
    if (rows.length === 0)
      throw new Error("the connection does not keep its LISTEN; is it a transaction pooler?");
    connected();
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}

async function endQuietly(client: Client): Promise<void> {
  client.on("error", () => {}); // what a dying connection still says
  await withDeadline(client.end(), 1_000, "the listener did not close").catch(() => {
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  });
}
