import type { JobsClient } from "lenso-jobs-plugin/capability";
import { createJobsClient } from "lenso-jobs-plugin/capability";
import { secretsFromMap, startHost } from "lenso-jobs-plugin/host-fixtures";
import { emailComposition } from "./composition.ts";
import { type DemoDatabase, openDatabase } from "./database.ts";
import type { EmailWorker } from "./deliver-next.ts";
import { type MailServer, startMailServer } from "./mail-server.ts";
import { createMailer } from "./mailer.ts";
import { say } from "./narrate.ts";
import { openSentMail } from "./sent-mail.ts";

/** What every step of the demo has at hand. */
export interface Demo {
  readonly database: DemoDatabase;
  readonly mailServer: MailServer;
  readonly worker: EmailWorker;
  /** What is started later and has to be stopped with the rest. */
  readonly undo: AsyncDisposableStack;
  /** The client of one module for one of its requirements: what the host gives that module itself. */
  client(module: string, requirement: "mail" | "billing"): JobsClient;
  /** The ids of the jobs so far, by the requirement through which they were made. */
  readonly jobIds: { readonly mail: string[]; readonly billing: string[] };
}

/** Starts everything that the demo needs. What has to be stopped goes on `undo`, and stops in reverse. */
export async function openDemo(undo: AsyncDisposableStack): Promise<Demo> {
  const database = await openDatabase(undo);
  const mailServer = await startMailServer();
  undo.defer(() => mailServer.close());
  const sent = openSentMail(database.url, database.schemas.emailWorker);
  undo.defer(() => sent.close());
  const secrets = secretsFromMap({
    "mail/database-url": database.url,
    "billing/database-url": database.url,
  });
  const host = await startHost(emailComposition(secrets, database.schemas));
  undo.defer(() => host.stop());
  say("  a host runs: two Jobs Instances, secrets, and five modules that call them");
  say(`  an SMTP server listens on 127.0.0.1:${mailServer.port}`);
  const client = (module: string, requirement: "mail" | "billing"): JobsClient =>
    createJobsClient(host.handle(module, requirement));
  const worker = { jobs: client("email-worker", "mail"), send: createMailer(mailServer.port), sent };
  return { database, mailServer, worker, undo, client, jobIds: { mail: [], billing: [] } };
}
