import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { check, setup } from "./index.ts";
import { type OperatorDatabase, operatorDatabase } from "./testing/operator-database.ts";

describe.each(["bun", "pg"] as const)("with the driver %s", (driver) => {
  let shared: Promise<OperatorDatabase> | undefined;

  /** Tests of a file share a database, since making one takes longer than most of them. */
  async function given() {
    shared ??= operatorDatabase();
    const database = await shared;
    await database.empty();
    return { ...database, options: { databaseUrl: database.url, schema: "jobs", driver } };
  }

  test("no report shows a secret: wrong password, wrong database, nobody listening, nobody answering, malformed", async () => {
    const canary = ["CANARY", "s3cret"].join("-");
    const { options } = await given();
    const good = new URL(options.databaseUrl);
    const wrong = (change: (url: URL) => void) => {
      const url = new URL(good);
      url.password = canary;
      change(url);
      return url.href;
    };
    const urls: [string, string][] = [
      [wrong((url) => void (url.username = canary)), "permission_denied"],
      [wrong((url) => void (url.port = "1")), "database_unavailable"],
      [wrong((url) => void (url.hostname = "nowhere.invalid")), "database_unavailable"],
      [good.href.replace(good.pathname, `/${canary}`), "database_unavailable"],
      ...[
        canary,
        `postgres://u:${canary}`,
        `postgres://u:${canary}@/d`,
        `mysql://u:${canary}@h/d`,
        `postgres://u:${canary}%zz@h/d`,
        `postgres://u:${canary}#@h:5432/d`,
        `postgres://u:${canary}@h:99999/d`,
        `host=h password=${canary}`,
        `postgres://u:${canary}@h1,h2/d`,
        ` ${canary}`,
        "",
      ].map((url): [string, string] => [url, "invalid_input"]),
    ];
    for (const [databaseUrl, code] of urls) {
      for (const command of [setup, check]) {
        const report = await command({ ...options, databaseUrl });
        expect(Bun.inspect(report)).not.toContain(canary);
        expect<string>(report.code).toBe(code);
      }
    }
  }, 60_000);

  test("options of the URL that can't be right are refused by name, before the server and by it, and show no value", async () => {
    const canary = ["CANARY", "s3cret"].join("-");
    const { options } = await given();
    for (const [search, message] of [
      [`?sslmode=${canary}`, 'database URL: its option "sslmode" has a value that driver'],
      [`?application_name=${canary}%00`, 'database URL: its option "application_name" has a value'],
      [`?foo=${canary}`, 'database URL: its option "foo" is none that driver'],
      ...(driver === "pg"
        ? ([
            ["?sslmode=disable&sslnegotiation=direct", "the client refuses LENSO_JOBS_DATABASE_URL"],
          ] as const)
        : []),
      [`?options=${canary}`, 'look at "options" in LENSO_JOBS_DATABASE_URL'],
      [`?options=-c%20foo%3D${canary}`, 'look at "options" in LENSO_JOBS_DATABASE_URL'],
      [`?options=-c%20DateStyle%3D${canary}`, 'look at "options" in LENSO_JOBS_DATABASE_URL'],
    ] as const) {
      const report = await setup({ ...options, databaseUrl: options.databaseUrl + search });
      expect<string>(report.code).toBe("invalid_input");
      expect(report.message).toContain(message);
      expect(Bun.inspect(report)).not.toContain(canary);
    }
  });

  test("a server that never answers is given up", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const report = await check({ databaseUrl: `postgres://u:p@127.0.0.1:${port}/d`, schema: "jobs", driver });
    silent.close();
    expect(report).toMatchObject({ ok: false, code: "database_unavailable" });
  }, 20_000);

  test("a database in another encoding is refused", async () => {
    const { options, query } = await given();
    const name = `latin_${Math.random().toString(36).slice(2)}`;
    await query(`create database "${name}" encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`);
    try {
      const url = new URL(options.databaseUrl);
      url.pathname = `/${name}`;
      expect(await setup({ ...options, databaseUrl: url.href })).toMatchObject({
        ok: false,
        code: "unsupported_database",
      });
    } finally {
      await query(`drop database "${name}" with (force)`);
    }
  }, 30_000);
});
