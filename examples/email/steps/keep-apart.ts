import type { Demo } from "../demo.ts";
import { check, must, refusalOf, title } from "../narrate.ts";

/** Two Instances share nothing: neither keys nor jobs nor roles. */
export async function keepApart({ client, jobIds }: Demo): Promise<void> {
  title("6. Mail and billing share nothing");
  const invoice = must(
    await client("accounts", "billing").enqueue({
      queue: "invoices",
      kind: "write-invoice",
      payload: { account: "ada", cents: 900 },
      idempotency_key: "welcome-ada",
      available_at: "2026-01-05T09:00:00Z",
      max_attempts: 3,
    }),
  );
  jobIds.billing.push(invoice.job_id);
  check("jobs-billing has never seen the key welcome-ada of jobs-mail: a new job", invoice.created);
  const elsewhere = await client("operations", "mail").inspect({ job_id: invoice.job_id });
  check("jobs-mail knows no job of jobs-billing: job_not_found", refusalOf(elsewhere) === "job_not_found");

  const worker = client("billing-worker", "billing");
  const { job_id, lease_token, attempt } = must(await worker.claim({ queue: "invoices" }));
  const { completed } = must(await worker.complete({ job_id, lease_token }));
  check("billing-worker claims and completes it", job_id === invoice.job_id && attempt === 1 && completed);
  const again = must(await worker.complete({ job_id, lease_token }));
  check("asked once more, as after a lost reply, complete gives the same answer", again.completed);
}
