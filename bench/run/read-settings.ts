import { availableParallelism, cpus } from "node:os";
import { SQL } from "bun";
import { nodeProgram } from "./side-process.ts";

/** What figures depend on. */
export type Settings = Readonly<Record<string, string>>;

const serverSettings = [
  "server_version",
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_sync_method",
  "wal_compression",
  "shared_buffers",
  "max_wal_size",
  "autovacuum",
] as const;

const peers = ["pg-boss", "graphile-worker", "bullmq", "pg"] as const;

/** Versions and settings for the head of the report. */
export async function readSettings(databaseUrl: string, place: string): Promise<Settings> {
  const sql = new SQL(databaseUrl, { max: 1 });
  const settings: Record<string, string> = { server: place };
  try {
    for (const name of serverSettings) {
      const [row] = await sql`select current_setting(${name}) as setting`;
      settings[name] = row.setting;
    }
  } finally {
    await sql.close();
  }
  settings["CPUs"] =
    `${availableParallelism()} × ${cpus()[0]?.model ?? "unknown"}, client and server share them`;
  settings["Bun"] = Bun.version;
  settings["Node"] = await nodeVersion();
  for (const peer of peers) settings[peer] = await versionOf(peer);
  return settings;
}

async function nodeVersion(): Promise<string> {
  try {
    return (await Bun.$`${nodeProgram()} --version`.quiet().text()).trim().replace(/^v/, "");
  } catch {
    return "missing";
  }
}

async function versionOf(peer: string): Promise<string> {
  try {
    const file = Bun.resolveSync(`${peer}/package.json`, import.meta.dir);
    return ((await Bun.file(file).json()) as { version: string }).version;
  } catch {
    return "not installed";
  }
}
