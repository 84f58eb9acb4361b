import { expect, test } from "bun:test";
import { parseJobsConfig } from "../../config.ts";
import { isRoleName, isSchemaName, quoteIdentifier, quoteLiteral } from "./identifier.ts";
import { parseMigration, readMigrations } from "./migrations.ts";
import { schemaProblem } from "./schema-problem.ts";

test("the migrations come in order, and each says who may run on it", async () => {
  const migrations = await readMigrations();

  expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, index) => index + 1));
  expect(migrations[0]).toMatchObject({ version: 1, name: "jobs", oldestBuild: 1 });
  for (const { text, checksum } of migrations) {
    expect(checksum).toMatch(/^[0-9a-f]{64}$/);
    expect(text).not.toMatch(/^\s*(begin|commit|rollback)\b/im); // each runs inside the command's transaction
  }
});

test("a checksum covers version, name and text, but not the kind of line ends", () => {
  const text = "-- Runs. Oldest build: 1\nselect 1;\n";
  const checksum = (file: string, contents: string) => parseMigration(file, contents).checksum;

  expect(checksum("0001_a.sql", text.replaceAll("\n", "\r\n"))).toBe(checksum("0001_a.sql", text));
  const others = [
    checksum("0002_a.sql", text),
    checksum("0001_b.sql", text),
    checksum("0001_a.sql", `${text} `),
  ];
  expect(new Set([checksum("0001_a.sql", text), ...others]).size).toBe(4);
});

test("a migration file that breaks the rules is named", () => {
  for (const [file, text] of [
    ["1_a.sql", "-- Oldest build: 1\n"],
    ["0001_A.sql", "-- Oldest build: 1\n"],
    ["0001_a.sql", "create table a ();\n-- Oldest build: 1\n"],
    ["0001_a.sql", "-- Oldest build: 0\n"],
    ["0002_a.sql", "-- Oldest build: 3\n"],
    ["0002_a.sql", "-- Oldest build:\n"],
  ] as const) {
    expect(() => parseMigration(file, text)).toThrow(`migrations/${file}`);
  }
});

test("identifiers and texts keep every character", () => {
  expect(quoteIdentifier(`a"b`)).toBe(`"a""b"`);
  expect(quoteLiteral(`it's`)).toBe(`'it''s'`);
  expect(quoteLiteral("a\\'b")).toBe("E'a\\\\''b'");
  expect(() => quoteIdentifier("a\0")).toThrow();
});

test("the operator and the configuration accept the same schema names", () => {
  const accepts = (schema: string) => {
    const given = {
      schema,
      database_url_secret: "db",
      lease_seconds: 30,
      retry_base_seconds: 1,
      retry_max_seconds: 60,
      queues: ["q"],
      producer_instances: ["p"],
      worker_instances: ["w"],
    };
    try {
      return parseJobsConfig(given).schema === schema;
    } catch {
      return false;
    }
  };
  for (const name of [
    "jobs",
    "a",
    "select",
    "a1_",
    "pg_a",
    "pga",
    "public",
    "public1",
    "information_schema",
    "A",
    "1a",
    "_a",
    "",
    "a".repeat(63),
    "a".repeat(64),
    "a\n",
    "é",
    'a"',
  ]) {
    expect({ name, ok: isSchemaName(name) }).toEqual({ name, ok: accepts(name) });
  }
});

test("a role may have any name but those that mean something else to GRANT", () => {
  for (const name of ["app", "App", 'a"b', "select", "a b", "é".repeat(31), "current_user"])
    expect(isRoleName(name)).toBe(true);
  for (const name of ["public", "none", "pg_monitor", "", "a\0", "é".repeat(32), "\ud800"])
    expect(isRoleName(name)).toBe(false);
});

test("each state that keeps the plugin from starting names the next command", () => {
  const managed = { owner: "ops", role: "app's", owned: false };

  expect(schemaProblem({ kind: "absent" }, "jobs")).toContain('run "lenso-jobs setup jobs"');
  expect(schemaProblem({ kind: "unmanaged" }, "jobs")).toContain("lenso-jobs setup OTHER_SCHEMA");
  expect(schemaProblem({ ...managed, kind: "behind", from: 1, to: 3 }, "jobs")).toContain(
    'at version 1, this build needs 3: run "lenso-jobs upgrade jobs"',
  );
  expect(
    schemaProblem(
      { ...managed, kind: "diverged", version: 2, reason: "was applied with another text" },
      "jobs",
    ),
  ).toContain("lenso-jobs check jobs");
  expect(schemaProblem({ ...managed, kind: "not_owned", missing: ["insert on jobs"] }, "jobs")).toContain(
    `lenso-jobs setup jobs --runtime-role 'app'\\''s'`,
  );
  expect(
    schemaProblem({ ...managed, kind: "ahead", from: 5, to: 2, oldestBuild: 4, runnable: false }, "jobs"),
  ).toContain("build 4 or newer, and this is build 2");
  expect(
    schemaProblem({ ...managed, kind: "ahead", from: 5, to: 2, oldestBuild: 2, runnable: true }, "jobs"),
  ).toBeUndefined();
  expect(schemaProblem({ ...managed, kind: "current", version: 2 }, "jobs")).toBeUndefined();
});
