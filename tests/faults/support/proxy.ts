import { createConnection, createServer, type Socket } from "node:net";

/** What the proxy does with bytes. `dropReplies` lets requests through and loses the results of what they did. */
export type ProxyMode = "forward" | "stall" | "refuse" | "dropReplies";

/** A TCP proxy before a PostgreSQL server, whose link a test stalls, cuts or bends. */
export interface Proxy extends AsyncDisposable {
  /** The server's URL by way of the proxy. */
  readonly url: string;
  /** For connections that exist and those to come. */
  mode: ProxyMode;
  /** Breaks every connection that exists, with a reset. */
  cut(): void;
  /** Connections at this moment. */
  readonly connections: number;
  close(): Promise<void>;
}

export async function startProxy(targetUrl: string): Promise<Proxy> {
  const target = new URL(targetUrl);
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  let mode: ProxyMode = "forward";

  const listener = createServer((client) => {
    if (mode === "refuse") {
      client.resetAndDestroy();
      return;
    }
    const server = createConnection({ host: target.hostname, port: Number(target.port) });
    const pair = { client, server };
    pairs.add(pair);
    client.on("data", (bytes: Buffer) => {
      if (mode !== "stall") server.write(bytes);
    });
    server.on("data", (bytes: Buffer) => {
      if (mode === "stall" || (mode === "dropReplies" && holdsResult(bytes))) return;
      client.write(bytes);
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("expected a TCP address");
  const url = new URL(targetUrl);
  url.port = String(address.port);

  const cut = (): void => {
    for (const { client, server } of pairs) {
      client.resetAndDestroy();
      server.destroy();
    }
  };
  const close = async (): Promise<void> => {
    cut();
    await new Promise((resolve) => listener.close(resolve));
  };
  return {
    url: url.href,
    get mode() {
      return mode;
    },
    set mode(next) {
      mode = next;
    },
    cut,
    get connections() {
      return pairs.size;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Whether a statement's end is among these bytes. What only prepares one passes: else nothing would be done at all. */
function holdsResult(bytes: Buffer): boolean {
  return /C\0\0\0.(SELECT|INSERT|UPDATE|DELETE) /s.test(bytes.toString("latin1"));
}
