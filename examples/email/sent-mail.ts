import { SQL } from "bun";

/** The worker's own memory of what it has sent. It belongs to the worker, not to Jobs. */
export interface SentMail {
  has(messageId: string): Promise<boolean>;
  add(messageId: string): Promise<void>;
  close(): Promise<void>;
}

/** Makes the table, in a schema of the worker's own. */
export async function makeSentMail(databaseUrl: string, schema: string): Promise<void> {
  const sql = new SQL(databaseUrl, { max: 1 });
  try {
    await sql.unsafe(`create schema "${schema}"`);
    await sql.unsafe(
      `create table "${schema}".sent_mail (message_id text primary key, sent_at timestamptz default now())`,
    );
  } finally {
    await sql.close();
  }
}

/** Opens what {@link makeSentMail} made. */
export function openSentMail(databaseUrl: string, schema: string): SentMail {
  const sql = new SQL(databaseUrl, { max: 1 });
  const table = `"${schema}".sent_mail`;
  return {
    async has(messageId) {
      return (await sql.unsafe(`select from ${table} where message_id = $1`, [messageId])).length > 0;
    },
    async add(messageId) {
      await sql.unsafe(`insert into ${table} (message_id) values ($1) on conflict do nothing`, [messageId]);
    },
    close: () => sql.close(),
  };
}
