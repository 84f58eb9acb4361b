import type { LinkTap } from "../../faults/support/proxy.ts";

export interface StatementGateOptions {
  /** The text of the statements that are stopped, whichever connection runs them. */
  readonly statement: RegExp;
  /** `sent`: the server never sees them. `answered`: the server has run and committed them, and their answer is lost. */
  readonly at: "sent" | "answered";
  /** With `sent`: keeps the connections to the server when their client dies, for {@link StatementGate.release}. Default false. */
  readonly outliveClient?: boolean;
  /** False: lets everything through until {@link StatementGate.arm}. Default true. */
  readonly armed?: boolean;
  /** How many of them pass before, once it is armed. Default 0. */
  readonly passes?: number;
}

/** A place in the life of a worker's connections, known by the statement that is on its way. */
export interface StatementGate {
  /** Resolves when the first such statement is held, or when its answer has been lost. */
  readonly reached: Promise<void>;
  /** The tap of one connection, for `startProxy`. */
  readonly tapLink: () => LinkTap;
  arm(): void;
  /** Lets the server have what was held, as a network does that delivers late; resolves to its answers, byte by byte. */
  release(): Promise<string>;
}

/** A gate on PostgreSQL's wire: reads the frontend's messages as far as it takes to know which statement is run. */
export function statementGate(options: StatementGateOptions): StatementGate {
  const reached = Promise.withResolvers<void>();
  const links: StatementTap[] = [];
  const { armed = true, passes = 0 } = options;
  const watch: Watch = { ...options, armed, passes, onReached: reached.resolve };
  return {
    reached: reached.promise,
    tapLink() {
      const tap = new StatementTap(watch);
      links.push(tap);
      return tap;
    },
    arm: () => void (watch.armed = true),
    async release() {
      return (await Promise.all(links.map((link) => link.release()))).join("");
    },
  };
}

/** What the links of a gate share. */
interface Watch extends StatementGateOptions {
  armed: boolean;
  /** How many still pass. */
  passes: number;
  readonly onReached: () => void;
}

class StatementTap implements LinkTap {
  readonly #watch: Watch;
  readonly #requests = new Messages("startup");
  readonly #replies = new Messages("typed");
  /** Prepared statements by name. */
  readonly #texts = new Map<string, string>();
  readonly #held: Buffer[] = [];
  #send: (bytes: Buffer) => void = () => undefined;
  #holds = false;
  /** Syncs and simple queries that were sent, and how many of them the server has answered: the first answer is to the log-in. */
  #asked = 0;
  #answered = -1;
  /** Answers are lost from the one to this question on. */
  #lostFrom = Number.POSITIVE_INFINITY;
  readonly #answerOf = new Map<number, () => void>();
  /** What the server says after a release. */
  #late: Buffer[] | undefined;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  get outlivesClient(): boolean {
    return this.#holds && this.#watch.outliveClient === true;
  }

  fromClient(bytes: Buffer, send: (bytes: Buffer) => void): void {
    this.#send = send;
    for (const message of this.#requests.read(bytes)) {
      if (this.#runs(message) && this.#watch.armed && this.#watch.passes-- <= 0) this.#stop();
      if (message.kind === "S" || message.kind === "Q") this.#asked += 1;
      if (this.#holds) this.#held.push(message.bytes);
      else send(message.bytes);
    }
  }

  fromServer(bytes: Buffer, send: (bytes: Buffer) => void): void {
    for (const message of this.#replies.read(bytes)) {
      this.#late?.push(message.bytes);
      const isLost = this.#answered + 1 >= this.#lostFrom;
      if (message.kind === "Z") {
        this.#answered += 1;
        this.#answerOf.get(this.#answered)?.();
        if (this.#answered === this.#lostFrom) this.#watch.onReached();
      }
      if (!isLost) send(message.bytes);
    }
  }

  async release(): Promise<string> {
    if (!this.#holds) return "";
    this.#holds = false;
    const late: Buffer[] = [];
    this.#late = late;
    if (this.#asked <= this.#answered) {
      // The client died before it had sent the statement whole: there is nothing to be answered.
      for (const bytes of this.#held.splice(0)) this.#send(bytes);
      return "";
    }
    const answered = new Promise<void>((resolve) => this.#answerOf.set(this.#asked, resolve));
    for (const bytes of this.#held.splice(0)) this.#send(bytes);
    await answered;
    return Buffer.concat(late).toString("latin1");
  }

  /** Whether this message makes the server run one of the gate's statements. */
  #runs({ kind, bytes }: Message): boolean {
    if (kind === "P") {
      const [name, text] = texts(bytes, 2);
      this.#texts.set(name as string, text as string);
      return false;
    }
    const text =
      kind === "Q"
        ? texts(bytes, 1)[0]
        : kind === "B"
          ? this.#texts.get(texts(bytes, 2)[1] as string)
          : undefined;
    return text !== undefined && this.#watch.statement.test(text);
  }

  #stop(): void {
    if (this.#watch.at === "answered") {
      this.#lostFrom = Math.min(this.#lostFrom, this.#asked + 1);
    } else {
      this.#holds = true;
      this.#watch.onReached();
    }
  }
}

interface Message {
  /** The type letter; empty for the messages before the log-in. */
  readonly kind: string;
  readonly bytes: Buffer;
}

/** Cuts a stream of bytes into messages; what is not whole yet waits. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #typed: boolean;

  constructor(begins: "startup" | "typed") {
    this.#typed = begins === "typed";
  }

  *read(bytes: Buffer): Generator<Message> {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const start = this.#typed ? 1 : 0;
      if (this.#rest.length < start + 4) return;
      const end = start + this.#rest.readInt32BE(start);
      if (this.#rest.length < end) return;
      const message = {
        kind: this.#typed ? String.fromCharCode(this.#rest[0] as number) : "",
        bytes: this.#rest.subarray(0, end),
      };
      this.#rest = this.#rest.subarray(end);
      this.#typed = true; // these tests ask for no TLS: one message logs in, all others have a type
      yield message;
    }
  }
}

/** The first zero-ended texts of a message. */
function texts(bytes: Buffer, count: number): string[] {
  const found: string[] = [];
  let at = 5;
  for (let n = 0; n < count; n += 1) {
    const end = bytes.indexOf(0, at);
    found.push(bytes.toString("utf8", at, end));
    at = end + 1;
  }
  return found;
}
