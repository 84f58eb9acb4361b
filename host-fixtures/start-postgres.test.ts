import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import { canReach } from "./postgres/run-user.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

const shared = await startPostgres({ settings: { work_mem: "5MB" } });
afterAll(() => shared.stop());

const nobody = { uid: 65534, gid: 65534 };
/** As root, where setpriv is installed and nobody can read the sources and Bun. */
const canBeNobody =
  process.getuid?.() === 0 &&
  Bun.which("setpriv") !== null &&
  [import.meta.dir, dirname(process.execPath)].every((folder) => canReach(folder, nobody));
const systemBinaries = systemPostgres();

test("the server answers on its URL, with durable settings and those that the caller gave", async () => {
  const rows = await query(
    shared.url,
    `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'work_mem') ORDER BY name`,
  );
  expect(rows).toEqual([
    { name: "fsync", setting: "on" },
    { name: "synchronous_commit", setting: "on" },
    { name: "work_mem", setting: "5120" },
  ]);
  expect(shared.version).toStartWith("18.");
});

test("a wrong password is refused", async () => {
  const url = new URL(shared.url);
  url.password = "guess";
  expect(await codeOf(query(url.href, "SELECT 1"))).toBe("28P01");
});

test("a database made with a template is a copy of it", async () => {
  await query(await shared.createDatabase("original"), "CREATE TABLE note AS SELECT 'kept' AS body");
  const copy = await shared.createDatabase('the "copy"', { template: "original" });
  expect(await query(copy, "SELECT body FROM note")).toEqual([{ body: "kept" }]);
});

test("a dropped database is gone, even while someone is connected to it", async () => {
  const url = await shared.createDatabase("short_lived");
  const connected = new SQL(url, { max: 1 });
  await connected`SELECT 1`;
  await shared.dropDatabase("short_lived");
  await shared.dropDatabase("short_lived");
  await connected.close({ timeout: 0 });
  expect(await codeOf(query(url, "SELECT 1"))).toBe("3D000");
});

test("after an immediate restart the same URL works and what was committed is there", async () => {
  await using server = await disposableServer();
  await query(server.url, "CREATE TABLE note AS SELECT 'committed' AS body");
  await server.restart({ mode: "immediate" });
  await server.restart({ mode: "fast" });
  expect(await query(server.url, "SELECT body FROM note")).toEqual([{ body: "committed" }]);
});

test("a restart brings back a server whose postmaster was killed", async () => {
  await using server = await disposableServer();
  const postmaster = Number(
    (await Bun.file(join(server.dataDirectory, "postmaster.pid")).text()).split("\n")[0],
  );
  process.kill(postmaster, "SIGKILL");
  await server.restart({ mode: "fast" });
  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

test("stopping twice is safe and removes the folder", async () => {
  const server = await startPostgres();
  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
  expect(existsSync(join(server.dataDirectory, ".."))).toBe(false);
});

test("a setting that the server refuses is named in the error, and nothing stays behind", async () => {
  const before = ownFolders();
  expect(await messageOf(startPostgres({ settings: { no_such_setting: 1 } }))).toContain("no_such_setting");
  expect(ownFolders()).toEqual(before);
});

test("a folder without PostgreSQL is named in the error", async () => {
  expect(await messageOf(startPostgres({ binaries: "/nowhere/bin" }))).toContain("got /nowhere/bin");
});

test.skipIf(!systemBinaries)("a system's PostgreSQL serves just as well", async () => {
  await using server = await disposableServer({ binaries: systemBinaries ?? "" });
  expect(
    await query(server.url, "SELECT current_setting('server_version') LIKE $1 AS same", [
      `${server.version}%`,
    ]),
  ).toEqual([{ same: true }]);
});

test.each(["exit", "SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "the server ends with its process: %s",
  async (end) => {
    const owner = await startOwner();
    if (end === "exit") await owner.child.stdin.end();
    else owner.child.kill(end);
    await owner.child.exited;
    await until(() => !existsSync(owner.dataDirectory));
    expect(await codeOf(query(owner.url, "SELECT 1"))).not.toBe("");
  },
);

test("a server that outlived its killed owner and the watchdog is removed at the next start", async () => {
  const owner = await startOwner();
  const watchdog = Bun.spawnSync([
    "pgrep",
    "-f",
    `watchdog ${join(owner.dataDirectory, "..")}`,
  ]).stdout.toString();
  process.kill(Number(watchdog), "SIGKILL");
  owner.child.kill("SIGKILL");
  await owner.child.exited;
  expect(await query(owner.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]); // the orphan

  const next = await startPostgres();
  await next.stop();

  expect(existsSync(owner.dataDirectory)).toBe(false);
  await until(async () => (await codeOf(query(owner.url, "SELECT 1"))) !== "");
});

test("a deep temporary folder is no obstacle", async () => {
  const top = mkdtempSync(join(tmpdir(), "deep-"));
  chmodSync(top, 0o755); // the server's user enters it too
  const deep = join(top, "d".repeat(100), "d".repeat(100));
  mkdirSync(deep, { recursive: true });
  const owner = await startOwner({ env: { TMPDIR: deep } });
  expect(owner.dataDirectory).toStartWith(deep);
  expect(await query(owner.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await owner.child.stdin.end();
  await owner.child.exited;
  await until(() => !existsSync(owner.dataDirectory));
  rmSync(top, { recursive: true });
});

test.skipIf(!canBeNobody)("an ordinary user runs the server as itself", async () => {
  const owner = await startOwner({
    command: ["setpriv", `--reuid=${nobody.uid}`, `--regid=${nobody.gid}`, "--clear-groups"],
  });
  expect(await query(owner.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await owner.child.stdin.end();
  await owner.child.exited;
});

/** Another process that starts a server, prints how to reach it, and ends when its stdin does. */
async function startOwner(options: { env?: Record<string, string>; command?: string[] } = {}) {
  const program = `
    const { startPostgres } = await import(${JSON.stringify(join(import.meta.dir, "start-postgres.ts"))});
    const { url, dataDirectory } = await startPostgres();
    console.log(JSON.stringify({ url, dataDirectory }));
    await Bun.stdin.text();
    process.exit(0);`;
  const child = Bun.spawn([...(options.command ?? []), process.execPath, "-e", program], {
    cwd: "/",
    env: { ...process.env, ...options.env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await child.stdout.getReader().read();
  const { url, dataDirectory } = JSON.parse(new TextDecoder().decode(value)) as {
    url: string;
    dataDirectory: string;
  };
  return { child, url, dataDirectory };
}

async function disposableServer(
  options?: Parameters<typeof startPostgres>[0],
): Promise<PostgresServer & AsyncDisposable> {
  const server = await startPostgres(options);
  return { ...server, [Symbol.asyncDispose]: () => server.stop() };
}

async function query(url: string, statement: string, values: unknown[] = []): Promise<unknown[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    return [...((await sql.unsafe(statement, values)) as unknown[])];
  } finally {
    await sql.close({ timeout: 0 });
  }
}

/** The SQLSTATE or other code that the promise fails with, or "" when it does not fail. */
async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "",
    (error: { errno?: string; code?: string }) => error.errno ?? error.code ?? "unknown",
  );
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "",
    (error: Error) => error.message,
  );
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 10_000; !(await condition()); await Bun.sleep(20)) {
    if (Date.now() > deadline) throw new Error("waited 10 s in vain");
  }
}

function ownFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`lenso-postgres-${process.pid}-`));
}

function systemPostgres(): string | undefined {
  const versions = existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [];
  const newest = versions.map(Number).sort((a, b) => b - a)[0];
  return newest === undefined ? undefined : `/usr/lib/postgresql/${newest}/bin`;
}
