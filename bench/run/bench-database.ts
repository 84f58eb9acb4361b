import { SQL } from "bun";
import { startPostgres } from "lenso-jobs-plugin/host-fixtures";

/** A database of the bench's own. */
export interface BenchDatabase extends AsyncDisposable {
  /** Secret. */
  readonly url: string;
  /** Where it is, without secrets. */
  readonly place: string;
}

/** On the server of the URL, or on an embedded one with durable settings. Dropped at the end. */
export async function openBenchDatabase(serverUrl: string | undefined): Promise<BenchDatabase> {
  if (serverUrl === undefined) {
    const server = await startPostgres();
    const url = await server.createDatabase("lenso_bench");
    return { url, place: "embedded server", [Symbol.asyncDispose]: () => server.stop() };
  }
  const name = `lenso_bench_${process.pid}`;
  const administer = async (text: string): Promise<void> => {
    const sql = new SQL(serverUrl, { max: 1 });
    try {
      await sql.unsafe(text);
    } finally {
      await sql.close();
    }
  };
  await administer(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = name;
  return {
    url: url.href,
    place: "server of DATABASE_URL",
    [Symbol.asyncDispose]: () => administer(`drop database ${name} with (force)`),
  };
}
