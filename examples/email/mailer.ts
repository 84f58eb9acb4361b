import { createTransport } from "nodemailer";
import { type Message, messageIdOf } from "./message.ts";

/** What the mail server said to one letter. The code is what the job's failure is called. */
export type SendOutcome =
  | { readonly kind: "taken" }
  | { readonly kind: "temporary" | "permanent"; readonly code: string };

/** Sends one letter by SMTP. Never throws: what went wrong is an outcome. */
export type SendMail = (message: Message) => Promise<SendOutcome>;

/** Mail by nodemailer to the SMTP server on this port of the loopback address. */
export function createMailer(port: number): SendMail {
  const transport = createTransport({
    host: "127.0.0.1",
    port,
    secure: false,
    ignoreTLS: true,
    connectionTimeout: 5000,
    socketTimeout: 5000,
  });
  return async (message) => {
    const { to, subject, text } = message;
    try {
      const from = "accounts@accounts.example";
      await transport.sendMail({ from, to, subject, text, messageId: messageIdOf(message) });
      return { kind: "taken" };
    } catch (error) {
      return outcomeOf(error);
    }
  };
}

/** SMTP says itself whether trying again may help: 4xx is temporary, 5xx is not. A lost connection is temporary. */
function outcomeOf(error: unknown): SendOutcome {
  const { responseCode } = error as { responseCode?: unknown };
  if (typeof responseCode !== "number") return { kind: "temporary", code: "smtp_unreachable" };
  return { kind: responseCode >= 500 ? "permanent" : "temporary", code: `smtp_${responseCode}` };
}
