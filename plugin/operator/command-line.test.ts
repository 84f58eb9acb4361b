import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { packageVersion } from "../package-version.ts";
import { runCommandLine } from "./command-line.ts";
import { setup } from "./index.ts";
import { operatorDatabase } from "./testing/operator-database.ts";

async function run(args: readonly string[], url?: string) {
  let [out, err] = ["", ""];
  const exitCode = await runCommandLine(args, url === undefined ? {} : { LENSO_JOBS_DATABASE_URL: url }, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { exitCode, out, err };
}

const nobody = "postgres://u:p@127.0.0.1:1/d";

test("the commands, in the order of an operator's day, print what they did and exit 0", async () => {
  const { url, createRole } = await operatorDatabase();
  const role = await createRole();
  const ok = async (...args: string[]) => {
    const { exitCode, out, err } = await run(args, url);
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    return out;
  };

  expect(await ok("plan", "jobs")).toContain('create schema "jobs";');
  expect(await ok("setup", "jobs")).toBe('schema "jobs" created at version 1\n');
  expect(await ok("setup", "jobs", "--runtime-role", role.name)).toContain("already current");
  expect(await ok("upgrade", "jobs")).toBe('schema "jobs" is already current at version 1\n');
  expect(await ok("plan", "jobs")).toBe('-- schema "jobs" needs no change\n');
  expect(await ok("check", "jobs")).toMatch(/can start[^]+owner +postgres\n[^]+Instance +none yet\n/);
  expect(await ok("fence", "jobs")).toBe('schema "jobs": 0 leases voided\n');
  expect((await run(["check", "jobs"], role.url)).exitCode).toBe(0);
});

test("--json prints one object on standard output, also for refusals", async () => {
  const { url } = await operatorDatabase();
  await setup({ databaseUrl: url, schema: "jobs" });

  const checked = await run(["check", "jobs", "--json"], url);
  const refused = await run(["check", "--json", "other"], url);

  expect(JSON.parse(checked.out)).toMatchObject({
    ok: true,
    command: "check",
    schema: "jobs",
    code: "startable",
    exitCode: 0,
  });
  expect(JSON.parse(refused.out)).toEqual({
    ok: false,
    command: "check",
    schema: "other",
    code: "setup_required",
    message: 'PostgreSQL schema "other" does not exist: run "lenso-jobs setup other"',
    next: "lenso-jobs setup other",
    exitCode: 1,
  });
  expect(JSON.parse((await run(["--json"])).out)).toMatchObject({
    ok: false,
    code: "invalid_input",
    exitCode: 2,
  });
  expect([checked.exitCode, refused.exitCode, checked.err, refused.err]).toEqual([0, 1, "", ""]);
});

test("wrong usage exits 2 and says what is expected", async () => {
  for (const [args, expected] of [
    [[], "expected a command"],
    [["frobnicate"], "expected"],
    [["setup"], "SCHEMA is missing"],
    [["setup", "jobs", "more"], "one SCHEMA"],
    [["check", "jobs", "--runtime-role", "x"], "unknown option"],
    [["setup", "jobs", "--runtime-role"], "expected a role's name"],
    [["setup", "Jobs"], "schema: expected"],
    [["setup", "jobs", "--runtime-role", "public"], "runtime role: expected"],
  ] as const) {
    const { exitCode, err, out } = await run(args, nobody);
    expect({ args, exitCode, out }).toEqual({ args, exitCode: 2, out: "" });
    expect(err).toContain(expected);
  }
  const { exitCode, err } = await run(["check", "jobs"]);
  expect(exitCode).toBe(2);
  expect(err).toContain("LENSO_JOBS_DATABASE_URL");
});

test("a secret in an argument's place is refused without being shown", async () => {
  const canary = ["CANARY", "4rgument"].join("-");
  for (const args of [
    ["setup", `postgres://u:${canary}@h/d`],
    ["setup", "jobs", `postgresql://u:${canary}@h/d`],
    ["setup", "jobs", `--database-url=postgres://u:${canary}@h/d`],
    ["setup", "jobs", `--password=${canary}`],
    ["setup", "jobs", `--${canary}`],
    ["setup", "jobs", "--runtime-role", `host=h password=${canary}`],
    ["setup", `u:${canary}@h`],
    ["setup", "jobs", canary],
    [canary],
  ]) {
    for (const json of [[], ["--json"]]) {
      const { exitCode, out, err } = await run([...args, ...json], nobody);
      expect(exitCode).toBe(2);
      expect(out + err).not.toContain(canary);
    }
  }
});

test("an unreachable database exits 3, and --help documents every exit code", async () => {
  const { exitCode, err } = await run(["check", "jobs"], nobody);
  expect(exitCode).toBe(3);
  expect(err).toStartWith("lenso-jobs: the database that LENSO_JOBS_DATABASE_URL names cannot be reached");
  for (const args of [["--help"], ["setup", "--help"]]) {
    const help = await run(args);
    expect(help.exitCode).toBe(0);
    for (const line of ["LENSO_JOBS_DATABASE_URL", "  0  ", "  1  ", "  2  ", "  3  ", "--json"])
      expect(help.out).toContain(line);
  }
});

test("--version is the package's", async () => {
  expect(await run(["--version"])).toMatchObject({ exitCode: 0, out: `${packageVersion}\n` });
});

test("the program takes the URL from its environment and ends by itself", async () => {
  const { url } = await operatorDatabase();
  const program = fileURLToPath(new URL("./cli.ts", import.meta.url));
  const child = Bun.spawn([process.execPath, program, "setup", "jobs"], {
    env: { ...process.env, LENSO_JOBS_DATABASE_URL: url },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect({ out, err, exitCode }).toEqual({
    out: 'schema "jobs" created at version 1\n',
    err: "",
    exitCode: 0,
  });
});
