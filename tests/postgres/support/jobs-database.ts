import { databaseClockExpression, installDatabaseClock } from "../../../host-fixtures/index.ts";
import { setup } from "../../../plugin/operator/index.ts";
import { type TestDatabase, testDatabase } from "../../support/test-database.ts";

/** The schema that every database of these tests has. */
export const jobsSchema = "jobs";

/**
 * A clock that waits while somebody holds the advisory lock {@link gateLock}, after its statement has taken its snapshot:
 * so a test stops a statement between what it sees and what it does.
 */
export const gatedClock = "lenso_test_gate.now()";
export const gateLock = 47_110_815;

/** A fresh database with an empty, current schema, the test clock and the gate. */
export function jobsDatabase(): Promise<TestDatabase> {
  return testDatabase({ template: "jobs_engine", prepare: prepareJobsDatabase });
}

export async function prepareJobsDatabase(url: string): Promise<void> {
  const report = await setup({ databaseUrl: url, schema: jobsSchema });
  if (!report.ok) throw new Error(report.message);
  await installDatabaseClock(url);
  await using sql = new Bun.SQL(url, { max: 1 });
  await sql
    .unsafe(`
      create schema lenso_test_gate;
      create function lenso_test_gate.now() returns timestamptz language plpgsql volatile as $$
      begin
        perform pg_catalog.pg_advisory_xact_lock_shared(${gateLock});
        return ${databaseClockExpression};
      end $$;
      grant usage on schema lenso_test_gate to public;`)
    .simple();
}
