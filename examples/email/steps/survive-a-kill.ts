import type { ClaimResponse } from "lenso-jobs-plugin/capability";
import { deliver } from "../deliver-next.ts";
import type { Demo } from "../demo.ts";
import { type DeadWorker, killWorker } from "../kill-worker.ts";
import { messageById, messageIdOf } from "../message.ts";
import { check, must, refusalOf, say, title, until } from "../narrate.ts";
import { enqueueMail } from "./enqueue-mail.ts";

/** Two workers die half way, their jobs are taken over, and each letter is in its mailbox once. */
export async function surviveAKill(demo: Demo): Promise<void> {
  title("3. A worker is killed after it sent and before it completed");
  const { mailServer, worker } = demo;
  await enqueueMail(demo, "welcome-grace");

  const first = await killWorker(demo, "recorded");
  await checkKilled(demo, first, "welcome-ada", "sent it and noted in its own table that it did");
  const second = await killWorker(demo, "sent");
  await checkKilled(demo, second, "welcome-grace", "sent it and had no time to note anything");

  say("  waiting for the leases to expire: nobody has to notice the deaths");
  for (let taken = 0; taken < 2; taken += 1) {
    const lease = await claimAnew(demo);
    const dead = lease.job_id === first.lease.job_id ? first : second;
    await checkTakenOver(demo, dead, lease);
    const { result } = await deliver(worker, lease);
    const messageId = messageIdOf(messageById(dead === first ? "welcome-ada" : "welcome-grace"));
    if (dead === first) {
      check(
        "the new attempt finds the Message-ID in the worker's table and does not send again",
        result === "skipped",
      );
      check("the mail server received that letter once", mailServer.timesReceived(messageId) === 1);
    } else {
      check("for the other letter there is no note, so the new attempt sends again", result === "sent");
      check(
        "the mail server received it twice, under one Message-ID",
        mailServer.timesReceived(messageId) === 2,
      );
    }
    check("and the mailbox holds it once", mailServer.copiesInMailbox(messageId) === 1);
    await checkRefused(demo, dead, "also after the job has succeeded");
  }
}

/** Until its lease expires, the job is the dead worker's. */
async function checkKilled(
  { client, mailServer, jobIds }: Demo,
  { processId, signal, lease }: DeadWorker,
  id: string,
  how: string,
): Promise<void> {
  const seen = must(await client("operations", "mail").inspect({ job_id: lease.job_id }));
  const died = signal === "SIGKILL" && mailServer.timesReceived(messageIdOf(messageById(id))) === 1;
  check(
    `process ${processId} took "${id}", ${how}, then was killed by SIGKILL`,
    died && jobIds.mail.includes(lease.job_id),
  );
  const held = seen.status === "running" && seen.attempts === 1 && seen.lease_expires_at !== null;
  check(`operations sees its job running, attempt 1, lease until ${seen.lease_expires_at ?? "never"}`, held);
}

async function claimAnew({ worker }: Demo): Promise<ClaimResponse> {
  return until("an expired lease", async () => {
    const claimed = await worker.jobs.claim({ queue: "mail" });
    return refusalOf(claimed) === "no_job_available" ? undefined : must(claimed);
  });
}

async function checkTakenOver(demo: Demo, dead: DeadWorker, lease: ClaimResponse): Promise<void> {
  const { last_failure_code } = must(
    await demo.client("operations", "mail").inspect({ job_id: lease.job_id }),
  );
  check(
    "a job of the dead is claimed again: attempt 2, a new lease token, last failure lease_expired",
    lease.job_id === dead.lease.job_id &&
      lease.attempt === 2 &&
      lease.lease_token !== dead.lease.lease_token &&
      last_failure_code === "lease_expired",
  );
  await checkRefused(demo, dead, "while the new lease lives");
}

/** The dead worker's completion arrives after all, under the token that it held. */
async function checkRefused({ worker }: Demo, dead: DeadWorker, when: string): Promise<void> {
  const late = await worker.jobs.complete(dead.lease);
  check(
    `the dead worker's completion is refused ${when}: invalid_lease`,
    refusalOf(late) === "invalid_lease",
  );
}
