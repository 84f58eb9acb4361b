import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PostgresServer } from "../../../host-fixtures/index.ts";
import {
  type ClusterPlace,
  configureCluster,
  dataDirectory,
  freePort,
  startCluster,
  stopCluster,
} from "../../../host-fixtures/postgres/cluster.ts";
import { runUser } from "../../../host-fixtures/postgres/run-user.ts";
import { embeddedBinaries } from "../../../host-fixtures/postgres/server-binaries.ts";
import { createServerFolder } from "../../../host-fixtures/postgres/server-folder.ts";
import { watchServer } from "../../../host-fixtures/postgres/watchdog.ts";
import { observer } from "../../postgres/support/observe.ts";
import { eventually } from "../../task-faults/support/eventually.ts";

/** A streaming copy of a primary. */
export interface Standby extends AsyncDisposable {
  /** A superuser's connection to the database `postgres`. */
  readonly url: string;
  /** As the primary's `synchronous_standby_names` names it. */
  readonly name: string;
  /** The same database and user of the primary, here. */
  at(primaryUrl: string): string;
  /** Resolves when everything that the primary has committed so far can be read here. */
  caughtUp(): Promise<void>;
  /** Receives nothing from now on; what was received before has been replayed. */
  cutOff(): Promise<void>;
  /** Makes it a primary, and resolves when it takes writes. */
  promote(): Promise<void>;
}

/** Copies a running primary and follows it. The primary's binaries must be the embedded ones. */
export async function startStandby(primary: PostgresServer): Promise<Standby> {
  const user = runUser();
  const folder = await createServerFolder(user);
  const dismissWatchdog = watchServer(folder);
  const { folder: binaries } = await embeddedBinaries(user, folder);
  const place: ClusterPlace = { binaries, folder, user };
  const removeAll = async (): Promise<void> => {
    try {
      await stopCluster(place, "immediate");
    } finally {
      await rm(folder, { recursive: true, force: true });
      dismissWatchdog();
    }
  };
  try {
    const name = `standby_${randomBytes(4).toString("hex")}`;
    const port = await freePort();
    await copyPrimary(primary, place);
    const { password, port: primaryPort } = new URL(primary.url);
    await configureCluster(place, {
      port: String(port),
      primary_conninfo: `host=127.0.0.1 port=${primaryPort} user=postgres password=${password} application_name=${name}`,
    });
    await startCluster(place);
    const url = new URL(primary.url);
    url.port = String(port);
    return standby(primary, { url, name, place, removeAll });
  } catch (error) {
    await removeAll().catch(() => undefined); // it may never have run
    throw error;
  }
}

interface Started {
  readonly url: URL;
  readonly name: string;
  readonly place: ClusterPlace;
  removeAll(): Promise<void>;
}

function standby(primary: PostgresServer, { url, name, removeAll }: Started): Standby {
  const ask = async (text: string): Promise<Record<string, unknown>> => {
    await using sql = observer(url.href, 1);
    return (await sql.unsafe(text))[0];
  };
  return {
    url: url.href,
    name,
    at(primaryUrl) {
      const own = new URL(primaryUrl);
      own.port = url.port;
      return own.href;
    },
    async caughtUp() {
      await using sql = observer(primary.url, 1);
      const [{ written }] = await sql`select pg_current_wal_lsn()::text as written`;
      await eventually("the standby to catch up", async () => {
        const { there } = await ask(`select pg_last_wal_replay_lsn() >= '${written}'::pg_lsn as there`);
        return there === true;
      });
    },
    async cutOff() {
      await using sql = observer(url.href, 1);
      await sql.unsafe("alter system set primary_conninfo = ''");
      await sql`select pg_reload_conf()`;
      await eventually("the end of the receiver", async () => {
        const [row] = await sql`select (select count(*) from pg_stat_wal_receiver) = 0
          and pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn() as ended`;
        return row.ended;
      });
    },
    async promote() {
      await ask("select pg_promote(true, 60)");
    },
    [Symbol.asyncDispose]: removeAll,
  };
}

/** A base backup without pg_basebackup, which the embedded server does not come with. */
async function copyPrimary(primary: PostgresServer, place: ClusterPlace): Promise<void> {
  const target = dataDirectory(place);
  await using sql = observer(primary.url, 1); // one connection: the backup is the session's
  await sql`select pg_backup_start('standby', fast => true)`;
  const copied = spawnSync("cp", ["-a", primary.dataDirectory, target], { encoding: "utf8" }); // keeps the owner
  if (copied.status !== 0) throw new Error(`the copy of the primary failed: ${copied.stderr}`);
  const [{ labelfile }] = await sql`select labelfile from pg_backup_stop(wait_for_archive => false)`;
  for (const name of ["postmaster.pid", "postmaster.opts", "pg_wal", "pg_replslot"])
    await rm(join(target, name), { recursive: true, force: true });
  for (const name of ["pg_wal", "pg_replslot"]) await mkdir(join(target, name), { mode: 0o700 });
  await writeFile(join(target, "backup_label"), labelfile as string);
  await writeFile(join(target, "standby.signal"), "");
  if (place.user === undefined) return;
  const { uid, gid } = place.user;
  for (const name of ["pg_wal", "pg_replslot", "backup_label", "standby.signal"])
    await chown(join(target, name), uid, gid);
}
