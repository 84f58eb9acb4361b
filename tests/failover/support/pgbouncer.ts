import { spawn } from "node:child_process";
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../../host-fixtures/postgres/cluster.ts";
import { runUser } from "../../../host-fixtures/postgres/run-user.ts";
import { createServerFolder } from "../../../host-fixtures/postgres/server-folder.ts";
import { watchServer } from "../../../host-fixtures/postgres/watchdog.ts";

/** The installed PgBouncer, which a distribution may keep off the PATH; null without one. */
export const pgbouncerProgram: string | null = Bun.which("pgbouncer", {
  PATH: `${process.env.PATH ?? ""}:/usr/sbin:/usr/local/sbin`,
});

export interface PgBouncerOptions {
  /** A server that is reached through it. */
  readonly serverUrl: string;
  /** Who may log in, by name: their passwords, as the server knows them. */
  readonly passwords: Readonly<Record<string, string>>;
  readonly poolMode: "transaction" | "session";
  /** Further settings of its section `[pgbouncer]`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

export interface PgBouncer extends AsyncDisposable {
  /** The same user and database by way of it. */
  through(url: string): string;
  stop(): Promise<void>;
}

/** A PgBouncer on a free port of the loopback address, as an unprivileged user. It ends with this process however that ends. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const user = runUser(); // it refuses to run as root
  const folder = await createServerFolder(user);
  // The watchdog ends what has its process id here.
  const data = join(folder, "data");
  mkdirSync(data);
  const port = await freePort();
  const { hostname, port: serverPort } = new URL(options.serverUrl);
  const settings: Record<string, string | number> = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "scram-sha-256",
    auth_file: join(data, "users.txt"),
    pidfile: join(data, "postmaster.pid"),
    pool_mode: options.poolMode,
    ...options.settings,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const file = join(data, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]\n* = host=${hostname} port=${serverPort}\n[pgbouncer]\n${lines.join("\n")}\n`,
  );
  const users = Object.entries(options.passwords).map(([name, password]) => `"${name}" "${password}"\n`);
  writeFileSync(join(data, "users.txt"), users.join(""), { mode: 0o600 });
  if (user) for (const path of [data, file, join(data, "users.txt")]) chownSync(path, user.uid, user.gid);

  const dismissWatchdog = watchServer(folder);
  const child = spawn(pgbouncerProgram as string, [file], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    ...user,
  });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await exited;
    await rm(folder, { recursive: true, force: true });
    dismissWatchdog();
  };
  try {
    await new Promise<void>((resolve, reject) => {
      let log = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        log += text;
        if (log.includes("process up")) resolve();
      });
      child.once("error", reject).once("close", () => reject(new Error(`PgBouncer ended: ${log.trim()}`)));
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    through(url) {
      const own = new URL(url);
      own.hostname = "127.0.0.1";
      own.port = String(port);
      return own.href;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
