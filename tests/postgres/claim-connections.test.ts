import { expect, test } from "bun:test";
import { testServer } from "../support/test-server.ts";
import { leaseOf, newJob, ok } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, startJobs } from "./support/jobs-host.ts";
import { observer } from "./support/observe.ts";

await testServer();

test.each(drivers)(
  "over the driver %s the claims of a queue never meet at its head: they share a connection",
  async (driver) => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 1);
    await using jobs = await startJobs({ url, driver });
    const many = Array.from({ length: 2000 });
    await Promise.all(many.map(async () => ok(await jobs.producer.enqueue(newJob()))));
    await sql`create table public.claims (connection int)`.simple();
    await sql`create function public.note_claim() returns trigger language plpgsql as
      $$ begin insert into public.claims values (pg_backend_pid()); return null; end $$`.simple();
    await sql`create trigger note_claim after insert on jobs.lease for each statement execute function public.note_claim()`.simple();
    await Promise.all(
      many.map(async () => {
        const claimed = ok(await jobs.worker.claim({ queue: "mail" }));
        ok(await jobs.worker.complete(leaseOf(claimed)));
      }),
    );
    const [row] =
      await sql`select count(*)::int as claims, count(distinct connection)::int as connections from public.claims`;
    expect(row.claims).toBeGreaterThan(1);
    expect(row.connections).toBe(1);
  },
);
