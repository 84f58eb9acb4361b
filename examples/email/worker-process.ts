// An email worker in a process of its own, with a host of its own over the same schemas. It delivers one letter and stops
// dead at the point that DEMO_STOP_AT names, where its parent kills it. Started by kill-worker.ts.
import { createJobsClient } from "lenso-jobs-plugin/capability";
import { secretsFromEnvironment, startHost } from "lenso-jobs-plugin/host-fixtures";
import { emailComposition, type Schemas } from "./composition.ts";
import { deliverNext } from "./deliver-next.ts";
import { createMailer } from "./mailer.ts";
import { until } from "./narrate.ts";
import { openSentMail } from "./sent-mail.ts";

const { DEMO_DATABASE_URL = "", DEMO_SCHEMAS = "{}", DEMO_SMTP_PORT, DEMO_STOP_AT } = process.env;
endWithParent();

const schemas = JSON.parse(DEMO_SCHEMAS) as Schemas;
const secrets = secretsFromEnvironment({
  "mail/database-url": "DEMO_DATABASE_URL",
  "billing/database-url": "DEMO_DATABASE_URL",
});
const host = await startHost(emailComposition(secrets, schemas));
const worker = {
  jobs: createJobsClient(host.handle("email-worker", "mail")),
  send: createMailer(Number(DEMO_SMTP_PORT)),
  sent: openSentMail(DEMO_DATABASE_URL, schemas.emailWorker),
  async reached(step: string, job: { readonly job_id: string; readonly lease_token: string }): Promise<void> {
    if (step !== DEMO_STOP_AT) return;
    // Through a pipe that only the parent reads: a lease token is a secret.
    process.stdout.write(`${JSON.stringify({ job_id: job.job_id, lease_token: job.lease_token })}\n`);
    await new Promise(() => {});
  },
};
await until("a letter to deliver", () => deliverNext(worker));

/** The parent holds the other end of this pipe, so it ends when the parent does, however that ends. */
function endWithParent(): void {
  process.stdin.on("end", () => process.exit(1)).resume();
}
