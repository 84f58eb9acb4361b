import type { JsonObject } from "lenso-jobs-plugin/capability";
import messages from "./messages.json" with { type: "json" };

/** A letter as the file of messages has it, and as the payload of a job carries it. */
export interface Message {
  /** Names the business event. The idempotency key and the Message-ID are made from it, so that both are stable. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Business time: when the account was registered. The same on every try, unlike "now". */
  readonly registered_at: string;
}

/** The letter of that id from the file. @throws Error when the file has none. */
export function messageById(id: string): Message {
  const message = messages.find((each) => each.id === id);
  if (message === undefined) throw new Error(`messages.json: no message "${id}"`);
  return message;
}

/** The payload of a job of kind `send-mail`, read back. Jobs owns the job; what a payload means is ours to check. */
export function readMessage(payload: JsonObject): Message {
  const { id, to, subject, text, registered_at } = payload;
  for (const field of [id, to, subject, text, registered_at]) {
    if (typeof field !== "string") throw new Error("send-mail: expected a payload with five texts");
  }
  return { id, to, subject, text, registered_at } as Message;
}

/** The letter's name for every mail system on its way, the same on every attempt. */
export function messageIdOf(message: Message): string {
  return `<${message.id}@accounts.example>`;
}
