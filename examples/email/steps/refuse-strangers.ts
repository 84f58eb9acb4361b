import type { Demo } from "../demo.ts";
import { messageById } from "../message.ts";
import { check, refusalOf, title } from "../narrate.ts";
import { mailJob } from "./enqueue-mail.ts";

/** The host says who calls; the Instance's lists say who may. A payload can change neither. */
export async function refuseStrangers({ client, jobIds }: Demo): Promise<void> {
  title("2. Who may do what");
  const marketing = client("marketing", "mail");
  const [adaJob = ""] = jobIds.mail;
  const grace = mailJob(messageById("welcome-grace"));
  const refused = async (claim: string, call: Promise<Parameters<typeof refusalOf>[0]>): Promise<void> =>
    check(claim, refusalOf(await call) === "unauthorized");

  await refused(
    "marketing, bound but in none of the lists, may not enqueue: unauthorized",
    marketing.enqueue(grace),
  );
  await refused("nor claim", marketing.claim({ queue: "mail" }));
  await refused("nor look at a job whose id it knows", marketing.inspect({ job_id: adaJob }));
  await refused("accounts, a producer, may not claim", client("accounts", "mail").claim({ queue: "mail" }));
  await refused("operations, an observer, may not enqueue", client("operations", "mail").enqueue(grace));
  await refused(
    "email-worker, a worker of jobs-mail, may not claim from jobs-billing",
    client("email-worker", "billing").claim({ queue: "invoices" }),
  );
}
