import { deliverNext } from "../deliver-next.ts";
import type { Demo } from "../demo.ts";
import { messageById, messageIdOf } from "../message.ts";
import { check, must, title, until } from "../narrate.ts";
import { enqueueMail } from "./enqueue-mail.ts";

/** A 5xx of the mail server: no attempt will help, so the job fails at once, with the code. */
export async function failPermanent(demo: Demo): Promise<void> {
  title("5. The mail server says never: 550, no such user");
  const { worker, mailServer } = demo;
  const job_id = await enqueueMail(demo, "welcome-nobody");

  const delivery = await until("the letter's turn", () => deliverNext(worker));
  const seen = must(await demo.client("operations", "mail").inspect({ job_id }));
  check(
    "the job failed for good with the code smtp_550, after one attempt of five",
    delivery.result === "failed" &&
      seen.status === "failed" &&
      seen.last_failure_code === "smtp_550" &&
      seen.attempts === 1,
  );
  check("it is not tried again", (await deliverNext(worker)) === undefined);
  const messageId = messageIdOf(messageById("welcome-nobody"));
  check("no mailbox holds the letter", mailServer.copiesInMailbox(messageId) === 0);
}
