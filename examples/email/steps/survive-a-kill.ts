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
  await checkKilled(demo, first, "welcome-ada", { noted: true });
  const second = await killWorker(demo, "sent");
  await checkKilled(demo, second, "welcome-grace", { noted: false });

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

/** The letter went out, the worker is gone, and until its lease expires the job is still its own. */
async function checkKilled(
  { client, mailServer, worker, jobIds }: Demo,
  { processId, signal, lease }: DeadWorker,
  id: "welcome-ada" | "welcome-grace",
  { noted }: { readonly noted: boolean },
): Promise<void> {
  const messageId = messageIdOf(messageById(id));
  check(
    `process ${processId} took "${id}" and sent it, and was then killed by SIGKILL`,
    lease.job_id === jobIds.mail[id === "welcome-ada" ? 0 : 1] &&
      signal === "SIGKILL" &&
      mailServer.timesReceived(messageId) === 1,
  );
  check(
    noted ? "it had noted in the worker's own table that it did" : "it had no time to note that",
    (await worker.sent.has(messageId)) === noted,
  );
  const seen = must(await client("operations", "mail").inspect({ job_id: lease.job_id }));
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
