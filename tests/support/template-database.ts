import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { urlOfDatabase } from "../../host-fixtures/postgres/databases.ts";
import type { TestDatabaseOptions } from "./test-database.ts";
import type { TestServer } from "./test-server.ts";

const migrations = join(import.meta.dir, "../../migrations");

/** The name of the template database, made by the first test process that asks; the others wait for it on a lock. */
export async function givenTemplate(server: TestServer, options: TestDatabaseOptions): Promise<string> {
  const name = `template_${options.template}_${digestOfMigrations()}`;
  const admin = new SQL(server.url, { max: 1 }); // one connection: the lock is the session's
  try {
    await admin`SELECT pg_advisory_lock(hashtext(${name}))`;
    const made = await admin`SELECT FROM pg_database WHERE datname = ${name}`;
    if (made.length === 0) await makeTemplate(server, admin, name, options.prepare);
    return name;
  } finally {
    await admin.close();
  }
}

/** Made under another name and renamed when it is whole, so that a crash half way leaves no half template. */
async function makeTemplate(
  server: TestServer,
  admin: SQL,
  name: string,
  prepare: TestDatabaseOptions["prepare"],
): Promise<void> {
  const draft = `${name}_draft`;
  await server.dropDatabase(draft);
  await server.createDatabase(draft);
  await prepare(urlOfDatabase(server.url, draft));
  await renameWhenUnused(admin, draft, name);
  await admin.unsafe(`ALTER DATABASE "${name}" WITH ALLOW_CONNECTIONS false`);
}

async function renameWhenUnused(admin: SQL, from: string, to: string): Promise<void> {
  for (const deadline = Date.now() + 3_000; ; await Bun.sleep(20)) {
    try {
      await admin.unsafe(`ALTER DATABASE "${from}" RENAME TO "${to}"`);
      return;
    } catch (error) {
      const inUse = error instanceof SQL.PostgresError && error.errno === "55006";
      if (!inUse) throw error;
      if (Date.now() > deadline)
        throw new Error(`prepare() of ${to} left a connection open`, { cause: error });
    }
  }
}

function digestOfMigrations(): string {
  const hash = createHash("sha256");
  const names = existsSync(migrations)
    ? readdirSync(migrations, { recursive: true, encoding: "utf8" }).sort()
    : [];
  for (const name of names.filter((each) => each.endsWith(".sql"))) {
    hash
      .update(name)
      .update("\0")
      .update(readFileSync(join(migrations, name)));
  }
  return hash.digest("hex").slice(0, 8);
}
