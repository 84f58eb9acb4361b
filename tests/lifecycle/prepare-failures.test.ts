import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import {
  bindSecretsProvider,
  type PluginFactory,
  type RuntimeFailureError,
  secretsCapability,
} from "../../capability/index.ts";
import { secretsFromMap } from "../../host-fixtures/index.ts";
import { setup } from "../../plugin/operator/index.ts";
import { setupWith } from "../../plugin/operator/setup.ts";
import { type OperatorDatabase, operatorDatabase } from "../../plugin/operator/testing/operator-database.ts";
import { migrationsUpTo } from "../../plugin/operator/testing/synthetic-migrations.ts";
import { createJobsPlugin } from "../../plugin/plugin.ts";
import { openDriver } from "../../plugin/store/drivers/open-driver.ts";
import { databaseClock } from "../../plugin/store/sql-context.ts";
import { configurationOf, drivers, startJobs, type TestDriver } from "../postgres/support/jobs-host.ts";
import { observer, pluginConnections, until } from "../postgres/support/observe.ts";
import { testServer } from "../support/test-server.ts";

await testServer();

let db: OperatorDatabase;
let sql: SQL;
beforeAll(async () => {
  db = await operatorDatabase();
  sql = observer(db.url);
  const report = await setup({ databaseUrl: db.url, schema: "current" });
  if (!report.ok) throw new Error(report.message);
});
afterAll(() => sql.close());

interface Attempt {
  readonly schema?: string;
  readonly url?: string;
  readonly driver?: TestDriver;
  readonly secrets?: PluginFactory;
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly prepareTimeoutMs?: number;
  readonly key?: string;
}

/** Starts a host that must fail, and answers with what. */
async function failureOf({
  schema = "current",
  url = db.url,
  configuration,
  ...options
}: Attempt): Promise<RuntimeFailureError> {
  try {
    const jobs = await startJobs({
      url,
      clock: databaseClock,
      configuration: { schema, ...configuration },
      ...options,
    });
    await jobs.stop();
  } catch (error) {
    return error as RuntimeFailureError;
  }
  throw new Error("the host started");
}

/** A Secrets Instance that answers as the test says. */
function secretsThat(
  resolve: () => Promise<{ ok: true; value: { value: string } } | { ok: false; error: never }>,
): PluginFactory {
  return {
    packageId: "test.secrets",
    packageVersion: "1.0.0",
    requirements: [],
    capabilities: [secretsCapability.descriptor],
    instantiate: () => ({ endpoints: [bindSecretsProvider({ resolve })] }),
  };
}

describe.each(drivers)("over the driver %s", (driver) => {
  test("an absent schema is named with the command that creates it", async () => {
    const failure = await failureOf({ schema: "absent", driver });
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(failure.detail).toContain('schema "absent" does not exist: run "lenso-jobs setup absent"');
    expect(failure.detail).toStartWith('prepare of "jobs": ');
  });

  test("a schema of somebody else's is refused, never adopted", async () => {
    await sql
      .unsafe(`create schema if not exists theirs; create table if not exists theirs.jobs (id int)`)
      .simple();
    const failure = await failureOf({ schema: "theirs", driver });
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(failure.detail).toContain('run "lenso-jobs setup OTHER_SCHEMA"');
  });

  test("a wrong password is unavailable and shows neither password nor URL", async () => {
    const url = new URL(db.url);
    url.password = "CANARY" + "-wrongpassword";
    const failure = await failureOf({ url: url.href, driver });
    expect(failure.kind).toBe("unavailable");
    expect(failure.detail).toContain("refused the credentials");
    expect(`${failure.detail} ${Bun.inspect(failure)}`).not.toContain("wrongpassword");
  });

  test("a server that nobody listens for is unavailable", async () => {
    const failure = await failureOf({ url: "postgres://user:secret@127.0.0.1:1/none", driver });
    expect(failure.kind).toBe("unavailable");
    expect(failure.detail).toContain("the database cannot be reached");
    expect(failure.detail).toEndWith("its URL leads to 127.0.0.1:1/none");
  });

  test("a database that does not exist is unavailable and says so", async () => {
    const url = new URL(db.url);
    url.pathname = "/no_such_database";
    const failure = await failureOf({ url: url.href, driver });
    expect(failure.kind).toBe("unavailable");
    expect(failure.detail).toContain("the database does not exist");
  });

  test.each([["not a url"], ["http://user:CANARYpass@host/db"], [""]])(
    "a secret that holds %j is refused, and not shown",
    async (value) => {
      const failure = await failureOf({ secrets: secretsFromMap({ "jobs/database": value }), driver });
      expect(failure.kind).toBe("invalid_resolved_plan");
      expect(failure.detail).toContain('secret "jobs/database" must hold a database URL');
      expect(Bun.inspect(failure)).not.toContain("CANARYpass");
    },
  );

  test.each([
    ["sslmode", "?sslmode=CANARYvalue"],
    ["application_name", "?application_name=CANARYvalue%00"],
    ["foo", "?foo=CANARYvalue"],
    ["SSLMODE", "?SSLMODE=CANARYvalue"],
    ["sslrootcert", "?sslrootcert=/nowhere/CANARYvalue"],
  ])(
    "an option %s of the URL that can't be right is refused by its name, without its value",
    async (name, search) => {
      const failure = await failureOf({ url: db.url + search, driver });
      expect(failure.kind).toBe("invalid_resolved_plan");
      expect(failure.detail).toContain(`secret "jobs/database" holds a database URL whose option "${name}" `);
      expect(Bun.inspect(failure)).not.toContain("CANARYvalue");
    },
  );

  test.each(["CANARYvalue", "-c foo=CANARYvalue", "-c DateStyle=CANARYvalue"])(
    "the options %j, which the server refuses, make it unavailable, and are not shown",
    async (value) => {
      const failure = await failureOf({ url: `${db.url}?options=${encodeURIComponent(value)}`, driver });
      expect(failure.kind).toBe("unavailable");
      expect(failure.detail).toContain('look at "options" in the database URL');
      expect(Bun.inspect(failure)).not.toContain("CANARYvalue");
    },
  );

  test("settings in the URL's options reach the server, and don't take the place of the plugin's own", async () => {
    const options = encodeURIComponent("-c work_mem=7MB -c search_path=elsewhere");
    const opened = await openDriver(driver, {
      url: `${db.url}?sslmode=disable&options=${options}`,
      maxConnections: 1,
      settings: { search_path: "pg_catalog" },
      prepare: true,
      connectTimeoutMs: 10_000,
    });
    const rows = await opened.query(
      "select current_setting('work_mem') as memory, current_setting('search_path') as path",
      [],
    );
    await opened.close(1000);
    expect(rows).toEqual([{ memory: "7MB", path: "pg_catalog" }]);
  });

  test("a role without grants is told the owner's command", async () => {
    const role = await db.createRole();
    const failure = await failureOf({ url: role.url, driver });
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(failure.detail).toContain(
      `its owner "postgres" runs "lenso-jobs setup current --runtime-role '${role.name}'"`,
    );
  });

  test("a schema that another Instance recorded is refused with both keys", async () => {
    const report = await setup({ databaseUrl: db.url, schema: `owned_${driver}` });
    expect(report.ok).toBe(true);
    await sql.unsafe(
      `insert into owned_${driver}.instance (instance_key, recorded_at) values ('first', now())`,
    );
    const failure = await failureOf({ schema: `owned_${driver}`, key: "second", driver });
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(failure.detail).toStartWith('prepare of "second": ');
    expect(failure.detail).toContain('belongs to the Instance "first", not to "second"');
  });
});

test.each(["?sslmode=disable&sslnegotiation=direct", "?uselibpqcompat=true&sslmode=verify-ca"])(
  "options that the client pg refuses together, as in %j, are refused before a connection",
  async (search) => {
    const url = `postgres://user:CANARYpass@127.0.0.1:1/none${search}`;
    const failure = await failureOf({ url, driver: "pg" });
    expect(failure.kind).toBe("invalid_resolved_plan");
    expect(failure.detail).toContain("the client refuses the database URL, most likely its options");
    expect(Bun.inspect(failure)).not.toContain("CANARYpass");
  },
);

test("a schema whose ledger is empty has diverged, and the check is named", async () => {
  await setup({ databaseUrl: db.url, schema: "emptied" });
  await sql`delete from emptied.lenso_jobs_ledger`;
  const empty = await failureOf({ schema: "emptied" });
  expect(empty.detail).toContain("has diverged from this build's migrations: version 1 is missing");
  expect(empty.detail).toContain('run "lenso-jobs check emptied"');
});

test("a schema ahead of this build is named with both versions, unless its ledger lets this build run", async () => {
  const known = (await migrationsUpTo(0)).length;
  await setupWith(await migrationsUpTo(known + 1, { [known + 1]: known + 1 }), {
    databaseUrl: db.url,
    schema: "ahead",
  });
  const failure = await failureOf({ schema: "ahead" });
  expect(failure.kind).toBe("invalid_resolved_plan");
  expect(failure.detail).toContain(
    `is at version ${known + 1}, which takes build ${known + 1} or newer, and this is build ${known}`,
  );
  expect(failure.detail).toContain('"bun add lenso-jobs-plugin@latest"');

  await setupWith(await migrationsUpTo(known + 1, { [known + 1]: known }), {
    databaseUrl: db.url,
    schema: "rolling",
  });
  const jobs = await startJobs({ url: db.url, clock: databaseClock, configuration: { schema: "rolling" } });
  await jobs.stop();
});

test("a schema that was changed by hand has diverged, and the version is named", async () => {
  await setup({ databaseUrl: db.url, schema: "diverged" });
  await sql`update diverged.lenso_jobs_ledger set checksum = repeat('0', 64)`;
  expect((await failureOf({ schema: "diverged" })).detail).toContain(
    "version 1 was applied with another text",
  );
  await setup({ databaseUrl: db.url, schema: "dropped" });
  await sql`drop table dropped.outcome`;
  expect((await failureOf({ schema: "dropped" })).detail).toContain(
    'version 1 should have left a table "outcome"',
  );
});

test("an unknown secret and a malformed reference are refused by name", async () => {
  const unknown = await failureOf({ secrets: secretsFromMap({ "another/one": db.url }) });
  expect(unknown.kind).toBe("invalid_resolved_plan");
  expect(unknown.detail).toContain('secret "jobs/database" was refused: unknown_reference');
  expect(unknown.detail).toContain("the variable that it reads for it is not set or empty");
  const malformed = await failureOf({ configuration: { database_url_secret: "../CANARY-secretvalue" } });
  expect(malformed.kind).toBe("invalid_resolved_plan");
  expect(malformed.detail).toContain("database_url_secret: expected a secret reference");
  expect(malformed.detail).not.toContain("secretvalue");
});

test("a Secrets Instance that throws or answers nonsense fails prepare by name, without its text", async () => {
  const thrown = await failureOf({
    secrets: secretsThat(async () => {
      throw new Error("CANARY" + "-thrownvalue");
    }),
  });
  expect(thrown.detail).toContain('secret "jobs/database" could not be resolved');
  expect(Bun.inspect(thrown)).not.toContain("thrownvalue");
});

test("a secret that is never answered ends prepare at the host's deadline, or at its own of ten seconds", async () => {
  const silent = secretsThat(() => new Promise(() => {}));
  const startedAt = performance.now();
  const [short, own] = await Promise.all([
    failureOf({ secrets: silent, prepareTimeoutMs: 200 }),
    failureOf({ secrets: silent }),
  ]);
  expect(short.kind).toBeOneOf(["deadline_exceeded", "cancelled"]); // the host's word, or the resolution's that it cancelled
  // Its two timers of ten seconds race: the one that aborts makes it "cancelled".
  expect(own.kind).toBeOneOf(["deadline_exceeded", "cancelled"]);
  expect(own.detail).toContain('secret "jobs/database"');
  expect(performance.now() - startedAt).toBeWithin(9_900, 13_000);
}, 20_000);

test("prepare changes nothing, not one row and not one object", async () => {
  const dump = async () => [
    ...(await db.dump("untouched")),
    ...(
      await sql.unsafe(
        "select relname, n_tup_ins + n_tup_upd + n_tup_del as written from pg_stat_user_tables where schemaname = 'untouched' order by 1",
      )
    ).map((row: object) => JSON.stringify(row)),
    JSON.stringify(
      await sql`select (select count(*) from untouched.instance) as instances, (select count(*) from untouched.name) as names, (select json_agg(l) from untouched.lenso_jobs_ledger l) as ledger`,
    ),
  ];
  await setup({ databaseUrl: db.url, schema: "untouched" });
  const before = await dump();
  const instance = createJobsPlugin({ clock: databaseClock, maintenanceIntervalMs: 5000 }).instantiate({
    instanceKey: "jobs",
    configuration: { ...configurationOf(), schema: "untouched" },
  });
  const secrets = secretsFromMap({ "jobs/database": db.url }).instantiate({
    instanceKey: "secrets",
    configuration: undefined,
  });
  const handle = {
    invoke: (operation: string, payload: unknown) =>
      secrets.endpoints[0]!.invokeRequest(
        operation,
        { requestId: "1", callerInstance: "jobs", cancelled: false },
        payload,
      ),
  };
  const context = {
    instanceKey: "jobs",
    signal: new AbortController().signal,
    deadline: performance.now() + 5000,
    handle: () => handle,
    handles: () => [handle],
  };
  await instance.prepare?.(context);
  expect(await dump()).toEqual(before);
  await instance.deactivate?.(context);
  await until("the plugin's connections to close", async () => (await pluginConnections(sql)) === 0);
});

test("a failed prepare leaves no connection behind", async () => {
  await failureOf({ schema: "absent" });
  await failureOf({ schema: "absent", driver: "pg" });
  await until("the plugin's connections to close", async () => (await pluginConnections(sql)) === 0);
});
