import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

/** A running SMTP server and what came of the letters that it was given. */
export interface MailServer {
  readonly port: number;
  /** How often a letter with this Message-ID was taken over the wire. */
  timesReceived(messageId: string): number;
  /** How many copies of it lie in the recipient's mailbox. */
  copiesInMailbox(messageId: string): number;
  /** How many letters lie in all mailboxes together. */
  lettersInMailboxes(): number;
  close(): Promise<void>;
}

/** How often a greylisted recipient is put off before a letter to it is taken. */
const timesGreylisted = 2;

/**
 * Starts a real SMTP server on a free port of the loopback address. Recipients that begin with `greylisted` are put off twice
 * (451, temporary); `no-such-user` is refused (550, permanent); every other letter is taken. Like most mail stores, it
 * files a letter of a Message-ID once, however often it receives it.
 */
export async function startMailServer(): Promise<MailServer> {
  const received: string[] = [];
  const mailbox: string[] = [];
  const putOff = new Map<string, number>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    onRcptTo({ address }, _session, answer) {
      if (address.startsWith("no-such-user@")) return answer(refusal(550, "5.1.1 no such user here"));
      const times = putOff.get(address) ?? 0;
      if (address.startsWith("greylisted@") && times < timesGreylisted) {
        putOff.set(address, times + 1);
        return answer(refusal(451, "4.7.1 greylisted, try again later"));
      }
      return answer();
    },
    onData(stream, _session, answer) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const messageId = messageIdIn(Buffer.concat(chunks).toString("utf8"));
        if (messageId === undefined) return answer(refusal(554, "5.6.0 a letter needs a Message-ID"));
        received.push(messageId);
        if (!mailbox.includes(messageId)) mailbox.push(messageId);
        return answer();
      });
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve());
  });
  return {
    port: (server.server.address() as AddressInfo).port,
    timesReceived: (messageId) => received.filter((each) => each === messageId).length,
    copiesInMailbox: (messageId) => mailbox.filter((each) => each === messageId).length,
    lettersInMailboxes: () => mailbox.length,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

function messageIdIn(letter: string): string | undefined {
  const [headers = ""] = letter.split(/\r?\n\r?\n/, 1);
  return /^Message-ID:\s*(<[^>\s]+>)/im.exec(headers)?.[1];
}
