import { spawn } from "node:child_process";
import { appendFile, chown, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { RunUser } from "./run-user.ts";

export interface ClusterPlace {
  /** The folder with initdb and pg_ctl. */
  readonly binaries: string;
  /** Holds `data/` and `server.log`. */
  readonly folder: string;
  readonly user: RunUser | undefined;
}

/** How a server goes down. `immediate` is a crash: nothing is flushed, the next start recovers from the WAL. */
export type StopMode = "fast" | "immediate";

/** Makes the data directory with one superuser, `postgres`, who logs in with this password. */
export async function initialiseCluster(place: ClusterPlace, password: string): Promise<void> {
  const passwordFile = join(place.folder, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (place.user) await chown(passwordFile, place.user.uid, place.user.gid);
  try {
    await run(place, "initdb", [
      `--pgdata=${dataDirectory(place)}`,
      "--username=postgres",
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync", // only the making of it: the running server has fsync on
    ]);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** Writes the settings; those of the caller come last and win. */
export async function configureCluster(place: ClusterPlace, settings: Record<string, string>): Promise<void> {
  const lines = Object.entries(settings).map(([key, value]) => `${key} = '${value.replaceAll("'", "''")}'\n`);
  await appendFile(join(dataDirectory(place), "postgresql.conf"), lines.join(""));
}

/** Starts the server and waits until it takes connections. */
export async function startCluster(place: ClusterPlace): Promise<void> {
  try {
    await run(place, "pg_ctl", [
      "start",
      "-w",
      "-s",
      "-t",
      "60",
      "-D",
      dataDirectory(place),
      "-l",
      logFile(place),
    ]);
  } catch (cause) {
    const log = await readFile(logFile(place), "utf8").catch(() => "(empty)");
    throw new Error(`PostgreSQL did not start. The end of its log: ${log.trim().slice(-1_000)}`, { cause });
  }
}

/** Stops the server and waits for its end. One that is down already, killed by a test perhaps, is no error. */
export async function stopCluster(place: ClusterPlace, mode: StopMode): Promise<void> {
  try {
    await run(place, "pg_ctl", ["stop", "-w", "-s", "-t", "60", "-m", mode, "-D", dataDirectory(place)]);
  } catch (error) {
    if (await isUp(place)) throw error;
  }
}

/** Down and up again. For about a second after a crash the old server's memory is in the way of the new one. */
export async function restartCluster(place: ClusterPlace, mode: StopMode): Promise<void> {
  await stopCluster(place, mode);
  for (let attempt = 1; ; attempt++) {
    try {
      return await startCluster(place);
    } catch (error) {
      if (attempt === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

export function dataDirectory(place: ClusterPlace): string {
  return join(place.folder, "data");
}

/** A port that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("expected a TCP address");
  return address.port;
}

async function isUp(place: ClusterPlace): Promise<boolean> {
  return run(place, "pg_ctl", ["status", "-D", dataDirectory(place)]).then(
    () => true,
    () => false,
  );
}

function logFile(place: ClusterPlace): string {
  return join(place.folder, "server.log");
}

async function run(place: ClusterPlace, program: string, args: string[]): Promise<void> {
  const child = spawn(join(place.binaries, program), args, {
    cwd: place.folder,
    env: { ...withoutPostgresVariables(process.env), LC_ALL: "C" },
    stdio: ["ignore", "ignore", "pipe"],
    ...place.user,
  });
  let problem = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problem += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  if (code !== 0) throw new Error(`${program} ended with code ${String(code)}: ${problem.trim()}`);
}

/** PGPORT, PGDATA and the like would redirect the programs. */
function withoutPostgresVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("PG")));
}
