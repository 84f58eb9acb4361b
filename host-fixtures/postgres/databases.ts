import { randomBytes } from "node:crypto";
import { SQL } from "bun";

/** Makes and drops databases on one server. Each call is one short connection, so a restarted server needs no care. */
export interface Databases {
  /** Its URL. Without a name, a random one. With `template`, a copy of that database, which nobody may be connected to. */
  createDatabase(name?: string, options?: { readonly template?: string }): Promise<string>;
  /** Drops it, closing the connections that are left. One that does not exist is no error. */
  dropDatabase(name: string): Promise<void>;
}

export function databasesOf(adminUrl: string): Databases {
  return {
    async createDatabase(name = `db_${randomBytes(6).toString("hex")}`, options = {}) {
      const template = options.template === undefined ? "" : ` TEMPLATE ${quoted(options.template)}`;
      await runOn(adminUrl, `CREATE DATABASE ${quoted(name)}${template}`);
      return urlOfDatabase(adminUrl, name);
    },
    async dropDatabase(name) {
      await runOn(adminUrl, `DROP DATABASE IF EXISTS ${quoted(name)} WITH (FORCE)`);
    },
  };
}

/** The same server and user, another database. */
export function urlOfDatabase(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.href;
}

async function runOn(url: string, statement: string): Promise<void> {
  const connection = new SQL(url, { max: 1, prepare: false });
  try {
    await connection.unsafe(statement);
  } finally {
    await connection.close({ timeout: 0 });
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
