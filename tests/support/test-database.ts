import { randomBytes } from "node:crypto";
import { SQL } from "bun";
import { afterTestFile } from "./after-test-file.ts";
import { givenTemplate } from "./template-database.ts";
import { testServer } from "./test-server.ts";

export interface TestDatabaseOptions {
  /** Names what `prepare` does. It runs once for each server, name and content of migrations/; all others get copies. */
  readonly template: string;
  /** Fills the template database at this URL. Must close its connections: a database in use cannot be copied. */
  readonly prepare: (url: string) => Promise<void>;
}

export interface TestDatabase {
  /** A superuser's connection to the fresh database. */
  readonly url: string;
  readonly name: string;
}

/**
 * A fresh database, copied from a template or empty without one. Call it at the top of a file, in a hook or in a test. It
 * is dropped after the file, and the file fails when one of its connections is still open then.
 *
 * @example
 * const { url } = await testDatabase({ template: "jobs", prepare: (url) => setupSchema({ url, schema: "jobs" }) });
 */
export async function testDatabase(options?: TestDatabaseOptions): Promise<TestDatabase> {
  const server = await testServer();
  const name = `test_${randomBytes(6).toString("hex")}`;
  const template = options && (await givenTemplate(server, options));
  const url = await server.createDatabase(name, template === undefined ? {} : { template });
  afterTestFile(async () => {
    const left = await connectionsLeftOpen(server.url, name);
    await server.dropDatabase(name);
    if (left.length > 0)
      throw new Error(`connections to ${name} still open after the test file: ${left.join("; ")}`);
  });
  return { url, name };
}

/** Gives closed connections 10 s to disappear: the server notices a close a moment after the client. */
async function connectionsLeftOpen(adminUrl: string, database: string): Promise<string[]> {
  const admin = new SQL(adminUrl, { max: 1 });
  try {
    for (const deadline = Date.now() + 10_000; ; await Bun.sleep(20)) {
      const rows: { described: string }[] = await admin`
        SELECT concat_ws(' ', nullif(application_name, ''), state, 'after:', left(query, 100)) AS described
        FROM pg_stat_activity WHERE datname = ${database} AND backend_type = 'client backend'`;
      if (rows.length === 0 || Date.now() > deadline) return rows.map((row) => row.described);
    }
  } finally {
    await admin.close();
  }
}
