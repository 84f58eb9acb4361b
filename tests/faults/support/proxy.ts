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
  /** Where connections to come lead: another server, as a service's address does after a failover. */
  pointAt(targetUrl: string): void;
  /** Connections at this moment. */
  readonly connections: number;
  /** How many connections were refused. */
  readonly refused: number;
  /** How often results were lost by `dropReplies`. */
  readonly lostResults: number;
  close(): Promise<void>;
}

/** Looks into the bytes of one connection and decides what goes on. */
export interface LinkTap {
  fromClient(bytes: Buffer, send: (bytes: Buffer) => void): void;
  fromServer(bytes: Buffer, send: (bytes: Buffer) => void): void;
  /** True keeps the server's end open although the client is gone: what the tap still holds may come late. */
  readonly outlivesClient: boolean;
}

/** `tapLink` makes a tap for each connection; default none. */
export async function startProxy(targetUrl: string, tapLink?: () => LinkTap): Promise<Proxy> {
  let target = new URL(targetUrl);
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  let mode: ProxyMode = "forward";
  let lostResults = 0;
  let refused = 0;

  const listener = createServer((client) => {
    if (mode === "refuse") {
      refused += 1;
      client.resetAndDestroy();
      return;
    }
    const server = createConnection({ host: target.hostname, port: Number(target.port) });
    const pair = { client, server };
    pairs.add(pair);
    const tap = tapLink?.();
    const toServer = (bytes: Buffer): void => void server.write(bytes);
    const toClient = (bytes: Buffer): void => void client.write(bytes);
    client.on("data", (bytes: Buffer) => {
      if (mode === "stall") return;
      if (tap) tap.fromClient(bytes, toServer);
      else toServer(bytes);
    });
    server.on("data", (bytes: Buffer) => {
      if (mode === "stall") return;
      if (mode === "dropReplies" && holdsResult(bytes)) {
        lostResults += 1;
        return;
      }
      if (tap) tap.fromServer(bytes, toClient);
      else toClient(bytes);
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        if (socket === client && tap?.outlivesClient && !server.destroyed) return;
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
    pointAt(next) {
      target = new URL(next);
    },
    get connections() {
      return pairs.size;
    },
    get refused() {
      return refused;
    },
    get lostResults() {
      return lostResults;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Whether a statement's end is among these bytes. What only prepares one passes: else nothing would be done at all. */
export function holdsResult(bytes: Buffer): boolean {
  return /C\0\0\0.(SELECT|INSERT|UPDATE|DELETE) /s.test(bytes.toString("latin1"));
}
