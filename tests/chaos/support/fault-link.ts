import { holdsResult, type LinkTap, startProxy } from "../../faults/support/proxy.ts";

/**
 * A process's way to the server, which a run bends. No fault takes bytes out of the middle of a connection, which TCP never does: what is
 * lost is lost up to the end of that connection.
 */
export interface FaultLink {
  /** The server's URL by this way. */
  readonly url: string;
  readonly connections: number;
  /** Keeps all bytes back, in both directions, until {@link release}; what the dead have sent is kept too. */
  hold(): void;
  /** Delivers what was kept back, in order. */
  release(): void;
  /** Lets requests through and delivers no result any more, on each connection from its next one on, until {@link cut}. */
  loseReplies(): void;
  /** Breaks every connection once so many further bytes have passed, mostly in the middle of a message. */
  cutAfter(bytes: number): void;
  /** Breaks every connection with a reset, and takes no new ones while it refuses. */
  cut(options?: { readonly refuse: boolean }): void;
  /** Takes connections again. */
  admit(): void;
  close(): Promise<void>;
}

export async function openFaultLink(targetUrl: string): Promise<FaultLink> {
  let isHeld = false;
  let losesReplies = false;
  let bytesLeft: number | undefined;
  let kept: (() => void)[] = [];

  /** Sends now or later, all of it or up to where the link breaks. */
  const pass = (bytes: Buffer, send: (bytes: Buffer) => void): void => {
    if (isHeld) {
      kept.push(() => send(bytes));
    } else if (bytesLeft === undefined || bytes.length <= bytesLeft) {
      if (bytesLeft !== undefined) bytesLeft -= bytes.length;
      send(bytes);
    } else {
      send(bytes.subarray(0, bytesLeft));
      cut();
    }
  };
  const tapLink = (): LinkTap => {
    let isDeaf = false;
    return {
      fromClient: pass,
      fromServer(bytes, send) {
        isDeaf ||= losesReplies && holdsResult(bytes);
        if (!isDeaf) pass(bytes, send);
      },
      get outlivesClient() {
        return isHeld;
      },
    };
  };
  const proxy = await startProxy(targetUrl, tapLink);
  const cut = ({ refuse = false } = {}): void => {
    if (refuse) proxy.mode = "refuse";
    proxy.cut();
    losesReplies = false;
    bytesLeft = undefined;
  };
  return {
    url: proxy.url,
    get connections() {
      return proxy.connections;
    },
    hold() {
      isHeld = true;
    },
    release() {
      isHeld = false;
      const due = kept;
      kept = [];
      for (const deliver of due) deliver();
    },
    loseReplies() {
      losesReplies = true;
    },
    cutAfter(bytes) {
      bytesLeft = bytes;
    },
    cut,
    admit() {
      proxy.mode = "forward";
    },
    close: () => proxy.close(),
  };
}
