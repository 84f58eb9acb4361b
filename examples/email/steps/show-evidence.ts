import type { InspectResponse } from "lenso-jobs-plugin/capability";
import type { Demo } from "../demo.ts";
import { check, must, title } from "../narrate.ts";

/** What operations sees of every job: enough to know what happened, and nothing of what was in it. */
export async function showEvidence({ client, jobIds, mailServer }: Demo): Promise<void> {
  title("7. What operations sees");
  const rows: Record<string, string>[] = [];
  const seen: InspectResponse[] = [];
  for (const instance of ["mail", "billing"] as const) {
    for (const job_id of jobIds[instance]) {
      const job = must(await client("operations", instance).inspect({ job_id }));
      seen.push(job);
      rows.push({
        Instance: `jobs-${instance}`,
        job: job.job_id,
        kind: job.kind,
        status: job.status,
        attempts: `${job.attempts} of ${job.max_attempts}`,
        "last failure": job.last_failure_code ?? "–",
        "last change (UTC)": job.updated_at.slice(11, 23),
      });
    }
  }
  console.log(table(rows));
  check(
    "every job has ended: four succeeded, one failed",
    ended(seen, "succeeded") === 4 && ended(seen, "failed") === 1,
  );
  check("three letters lie in mailboxes, each once", mailServer.lettersInMailboxes() === 3);
  const text = JSON.stringify(seen);
  check(
    "no payload and no token is in what an observer gets",
    !/account is ready|inbox\.example|job_lease_/.test(text),
  );
}

function ended(jobs: readonly InspectResponse[], status: InspectResponse["status"]): number {
  return jobs.filter((job) => job.status === status).length;
}

function table(rows: readonly Record<string, string>[]): string {
  const heads = Object.keys(rows[0] ?? {});
  const widths = heads.map((head) => Math.max(head.length, ...rows.map((row) => row[head]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `  ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ")}`.trimEnd();
  return [heads, widths.map((width) => "-".repeat(width)), ...rows.map((row) => Object.values(row))]
    .map(line)
    .join("\n");
}
