import type { LinkTap } from "../../faults/support/proxy.ts";

/** Finds the connections that listen among those of a proxy, to let them alone fall silent. */
export interface ListenerTap {
  readonly tapLink: () => LinkTap;
  /** From now on nothing passes on the connections whose LISTEN was answered, and nobody is told. Answers how many there are. */
  silence(): number;
}

export function listenerTap(): ListenerTap {
  const listening = new Set<Link>();
  return {
    tapLink: () => new Link((link) => listening.add(link)),
    silence() {
      for (const link of listening) link.silent = true;
      return listening.size;
    },
  };
}

class Link implements LinkTap {
  readonly outlivesClient = false;
  silent = false;
  readonly #onListen: (link: Link) => void;

  constructor(onListen: (link: Link) => void) {
    this.#onListen = onListen;
  }

  fromClient(bytes: Buffer, send: (bytes: Buffer) => void): void {
    if (!this.silent) send(bytes);
  }

  fromServer(bytes: Buffer, send: (bytes: Buffer) => void): void {
    if (bytes.includes("LISTEN\0")) this.#onListen(this);
    if (!this.silent) send(bytes);
  }
}
