import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openPostgres, postgresBackends } from "./support/backends.ts";
import { at, claimOne, domain, givenJob, inspectJob, leaseOf, valueOf } from "./support/given.ts";

const program = join(import.meta.dir, "support/claim-and-hang.ts");

/** A process that claimed a job and died by SIGKILL. */
async function killAfterClaim(url: string, driver: string): Promise<void> {
  const child = Bun.spawn([process.execPath, program, driver], {
    env: { ...process.env, CONTRACT_DATABASE_URL: url },
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  child.kill("SIGKILL");
  await child.exited;
  expect(new TextDecoder().decode(value).trim()).toBe("claimed");
}

describe.each(postgresBackends)("a worker process that is killed right after its claim, %s", (backend) => {
  const driver = backend === "PostgreSQL, driver pg" ? "pg" : "bun";

  test("leaves a lease that ends, and the job runs again within the lease and one round", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id } = await givenJob(bundle);
    await killAfterClaim(bundle.database.url, driver);
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running", lease_expires_at: at(30) });
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    await bundle.clock.advance(30_000);
    await bundle.maintain();
    const again = await claimOne(bundle);
    expect(again).toMatchObject({ job_id, attempt: 2 });
    expect(await valueOf(bundle.worker.complete(leaseOf(again)))).toEqual({ completed: true });
  });

  test("costs a job with one attempt its life", async () => {
    await using bundle = await openPostgres(backend);
    const { job_id } = await givenJob(bundle, { max_attempts: 1 });
    await killAfterClaim(bundle.database.url, driver);
    await bundle.clock.advance(30_000);
    expect(await bundle.worker.claim({ queue: "mail" })).toEqual(domain("no_job_available"));
    expect(await inspectJob(bundle, job_id)).toMatchObject({
      status: "failed",
      attempts: 1,
      last_failure_code: "attempts_exhausted",
    });
  });
});
