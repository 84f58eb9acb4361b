import { randomBytes } from "node:crypto";
import { SQL } from "bun";
import { startPostgres } from "lenso-jobs-plugin/host-fixtures";
import { setup } from "lenso-jobs-plugin/operator";
import type { Schemas } from "./composition.ts";
import { DemoFailed, say } from "./narrate.ts";
import { makeSentMail } from "./sent-mail.ts";

/** Where the demo keeps its jobs. */
export interface DemoDatabase {
  /** Secret. */
  readonly url: string;
  readonly schemas: Schemas;
}

/**
 * A database for this run: on the server of DATABASE_URL, or on an embedded one that is gone when the demo ends. The
 * schemas are new, made by the operator's `setup`, and dropped at the end. What has to be undone goes on `undo`.
 */
export async function openDatabase(undo: AsyncDisposableStack): Promise<DemoDatabase> {
  const given = process.env.DATABASE_URL || undefined;
  if (given !== undefined) say("Using the database that DATABASE_URL names.");
  if (given !== undefined) await reach(given);
  const url = given ?? (await startEmbedded(undo));
  const run = randomBytes(3).toString("hex");
  const schemas = {
    mail: `demo_mail_${run}`,
    billing: `demo_billing_${run}`,
    emailWorker: `demo_email_worker_${run}`,
  };
  const made = makeSchemas(url, schemas);
  if (given !== undefined) {
    // The embedded server takes everything with it; a database of yours gets back just as it was.
    undo.defer(async () => {
      await made.catch(() => undefined);
      await dropSchemas(url, Object.values(schemas));
    });
  }
  await made;
  return { url, schemas };
}

async function makeSchemas(url: string, { mail, billing, emailWorker }: Schemas): Promise<void> {
  for (const schema of [mail, billing]) {
    const report = await setup({ databaseUrl: url, schema });
    if (!report.ok) throw new DemoFailed(report.message);
    say(`  lenso-jobs setup: ${report.message}`);
  }
  await makeSentMail(url, emailWorker);
}

async function startEmbedded(undo: AsyncDisposableStack): Promise<string> {
  say("Starting an embedded PostgreSQL. (With DATABASE_URL the demo runs on that server.)");
  const starting = startPostgres();
  undo.defer(async () => (await starting.catch(() => undefined))?.stop());
  const server = await starting;
  say(`  PostgreSQL ${server.version} runs on a free port of this machine, with fsync on`);
  return server.url;
}

/** One question, so that a wrong DATABASE_URL is one sentence and no stack. */
async function reach(url: string): Promise<void> {
  const sql = new SQL(url, { max: 1, connectionTimeout: 10 });
  try {
    await sql`select 1`;
  } catch (error) {
    const { code, errno } = error as { readonly code?: unknown; readonly errno?: unknown };
    throw new DemoFailed(
      `the database that DATABASE_URL names cannot be reached (${String(errno ?? code)}): correct it, or unset it, and the demo starts a server of its own`,
    );
  } finally {
    await sql.close();
  }
}

async function dropSchemas(url: string, names: readonly string[]): Promise<void> {
  const sql = new SQL(url, { max: 1 });
  try {
    for (const name of names) await sql.unsafe(`drop schema if exists "${name}" cascade`);
  } finally {
    await sql.close();
  }
}
