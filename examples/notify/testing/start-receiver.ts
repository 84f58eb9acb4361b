import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Notice } from "../notice-board.ts";

/**
 * How the receiver answers a post. `drops`: it takes the notice and breaks the connection. `hangs`: it takes it and does not answer. `fails`: it takes
 * it and answers 500. `refuses`: it does not take it, and says so. `ignores`: it does not take it and breaks the connection. `stalls`: it does not take
 * it and does not answer.
 */
export type Manner = "answers" | "drops" | "hangs" | "fails" | "refuses" | "ignores" | "stalls";

/** A real receiver on loopback, and what it has taken. */
export interface Receiver extends AsyncDisposable {
  readonly url: URL;
  /** In the order in which they came. */
  readonly notices: readonly (Notice & { readonly receipt: string })[];
  /** Default: `answers`. */
  manner: Manner;
  /** Whether it tells who looks. Default true. */
  isOpen: boolean;
  /** How long an answer takes, in ms; a test may draw it. Default 0. */
  delayMs: () => number;
  /** Resolves when the next post has come, and has been taken if it is. */
  posted(): Promise<void>;
}

/** Starts a receiver that numbers its receipts. Each post that it takes is one more notice, whoever sent it before. */
export async function startReceiver(): Promise<Receiver> {
  const notices: (Notice & { readonly receipt: string })[] = [];
  let posted = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    if (request.method === "POST") void take(request, response);
    else tell(request, response);
  });
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // whoever sent it died on the way
    }
    const { manner } = receiver;
    const receipt = `receipt-${notices.length + 1}`;
    if (!["refuses", "ignores", "stalls"].includes(manner))
      notices.push({ ...(JSON.parse(Buffer.concat(chunks).toString()) as Notice), receipt });
    posted.resolve();
    posted = Promise.withResolvers();
    if (manner === "refuses") return send(response, 422, {});
    if (manner === "ignores" || manner === "drops") return void response.destroy();
    if (manner === "hangs" || manner === "stalls") return;
    setTimeout(() => send(response, manner === "fails" ? 500 : 201, { receipt }), receiver.delayMs());
  };
  const tell = (request: IncomingMessage, response: ServerResponse): void => {
    if (!receiver.isOpen) return send(response, 503, {});
    const reference = decodeURIComponent(request.url?.split("/").at(-1) ?? "");
    const found = notices.find((notice) => notice.reference === reference);
    send(response, found ? 200 : 404, found ? { receipt: found.receipt } : {});
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    notices,
    manner: "answers",
    isOpen: true,
    delayMs: () => 0,
    posted: () => posted.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
