import { leaseSeconds } from "../composition.ts";
import { type Delivery, deliverNext } from "../deliver-next.ts";
import type { Demo } from "../demo.ts";
import { messageById, messageIdOf } from "../message.ts";
import { check, must, say, title, until } from "../narrate.ts";
import { enqueueMail } from "./enqueue-mail.ts";

/** A 4xx of the mail server: tried again, after 1 s, then after 2 s, by the database's clock. */
export async function retryTemporary(demo: Demo): Promise<void> {
  title("4. The mail server is busy: 451, try again later");
  const { worker, mailServer } = demo;
  const operations = demo.client("operations", "mail");
  const job_id = await enqueueMail(demo, "welcome-edsger");

  let turn: string | undefined;
  for (const delaySeconds of [1, 2]) {
    const delivery = await until("the letter's turn", () => deliverNext(worker));
    if (turn !== undefined) checkOnTime(delivery, turn);
    const seen = must(await operations.inspect({ job_id }));
    check(
      `attempt ${delivery.job.attempt} is put off: the job is queued again with the code smtp_451`,
      delivery.result === "retry" && seen.status === "queued" && seen.last_failure_code === "smtp_451",
    );
    const delay = microseconds(seen.available_at) - microseconds(seen.updated_at);
    check(
      `its next run is exactly ${delaySeconds} s after the failure`,
      delay === BigInt(delaySeconds * 1_000_000) && delivery.nextRun === seen.available_at,
    );
    turn = seen.available_at;
  }
  say("  waiting for the third attempt's turn");
  const delivery = await until("the letter's turn", () => deliverNext(worker));
  checkOnTime(delivery, turn ?? "");
  const done = must(await operations.inspect({ job_id }));
  check("the letter is taken", delivery.result === "sent" && done.attempts === 3);
  const messageId = messageIdOf(messageById("welcome-edsger"));
  check(
    "the job succeeded and the mailbox holds the letter once",
    done.status === "succeeded" && mailServer.copiesInMailbox(messageId) === 1,
  );
}

/** A claim's lease began when it was claimed, by the database's clock. */
function checkOnTime({ job }: Delivery, turn: string): void {
  const claimedAt = microseconds(job.lease_expires_at) - BigInt(leaseSeconds * 1_000_000);
  check(`attempt ${job.attempt} was not claimed before its turn`, claimedAt >= microseconds(turn));
}

/** An instant of the wire, which always has six digits after the point, in microseconds. */
function microseconds(instant: string): bigint {
  return BigInt(Date.parse(`${instant.slice(0, 19)}Z`)) * 1000n + BigInt(instant.slice(20, 26));
}
