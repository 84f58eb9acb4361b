import { type Databases, databasesOf } from "../../host-fixtures/postgres/databases.ts";
import { startPostgres } from "../../host-fixtures/start-postgres.ts";

export interface TestServer extends Databases {
  /** A superuser's connection to the database `postgres`. */
  readonly url: string;
}

let started: Promise<TestServer> | undefined;

/**
 * The server that this test process uses: the one that the gate started and named in LENSO_TEST_DATABASE_URL, else an
 * embedded one of its own, shared by the process's files. It ends with the process.
 */
export function testServer(): Promise<TestServer> {
  const url = process.env.LENSO_TEST_DATABASE_URL;
  started ??= url ? Promise.resolve({ url, ...databasesOf(url) }) : startPostgres();
  return started;
}
