import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { testDatabase } from "../../tests/support/test-database.ts";

const keyLines = [
  "the same request once more makes no second job: same id, created is false",
  "the same key with another payload is refused: idempotency_conflict",
  "marketing, bound but in none of the lists, may not enqueue: unauthorized",
  'took "welcome-ada" and sent it, and was then killed by SIGKILL',
  'took "welcome-grace" and sent it, and was then killed by SIGKILL',
  "it had noted in the worker's own table that it did",
  "it had no time to note that",
  "a job of the dead is claimed again: attempt 2, a new lease token, last failure lease_expired",
  "the dead worker's completion is refused while the new lease lives: invalid_lease",
  "the new attempt finds the Message-ID in the worker's table and does not send again",
  "and the mailbox holds it once",
  "its next run is exactly 2 s after the failure",
  "the job failed for good with the code smtp_550, after one attempt of five",
  "every job has ended: four succeeded, one failed",
  "Everything that it started was stopped.",
];

test("the demo shows what it promises on an embedded server and leaves no folder behind", async () => {
  const demo = startDemo({ DATABASE_URL: "" });
  const { exitCode, output } = await endOf(demo);

  expect(output).toContain("Starting an embedded PostgreSQL");
  for (const line of keyLines) expect(output).toContain(line);
  expect(exitCode).toBe(0);
  expect(foldersOf(demo.pid)).toEqual([]);
}, 60_000);

test("with DATABASE_URL it runs there, twice at once, and leaves no schema behind", async () => {
  const { url } = await testDatabase();
  for (const { exitCode, output } of await Promise.all([
    endOf(startDemo({ DATABASE_URL: url })),
    endOf(startDemo({ DATABASE_URL: url })),
  ])) {
    for (const line of keyLines) expect(output).toContain(line);
    expect(output).not.toContain("Starting an embedded PostgreSQL");
    expect(exitCode).toBe(0);
  }
  expect(await schemasIn(url)).toEqual([]);
}, 60_000);

test("interrupted while a worker process runs, it stops all of it", async () => {
  const { url } = await testDatabase();
  const demo = startDemo({ DATABASE_URL: url });
  await outputUntil(demo, 'took "welcome-ada"'); // the second worker process is about to start
  demo.kill("SIGINT");

  expect(await demo.exited).toBe(130);
  expect(await schemasIn(url)).toEqual([]);
}, 60_000);

test("a database that cannot be reached is named as the reason, without its URL", async () => {
  const password = `${"CANARY"}-demo1234`;
  const { exitCode, output } = await endOf(
    startDemo({ DATABASE_URL: `postgres://demo:${password}@127.0.0.1:1/demo` }),
  );

  expect(output).toContain("The demo failed: ");
  expect(output).toContain("cannot be reached");
  expect(output).not.toContain(password);
  expect(output).not.toMatch(/^ +at /m); // a sentence, no stack
  expect(exitCode).toBe(1);
}, 60_000);

type DemoProcess = ReturnType<typeof startDemo>;

function startDemo(env: Readonly<Record<string, string>>) {
  return Bun.spawn([process.execPath, join(import.meta.dir, "main.ts")], {
    env: { ...process.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function endOf(demo: DemoProcess): Promise<{ readonly exitCode: number; readonly output: string }> {
  const [stdout, stderr, exitCode] = await Promise.all([demo.stdout.text(), demo.stderr.text(), demo.exited]);
  return { exitCode, output: stdout + stderr };
}

async function outputUntil(demo: DemoProcess, text: string): Promise<void> {
  let seen = "";
  for await (const bytes of demo.stdout) {
    seen += new TextDecoder().decode(bytes);
    if (seen.includes(text)) return;
  }
  throw new Error(`the demo ended before it printed "${text}":\n${seen}`);
}

/** The embedded server's folder carries the id of the process that owns it. */
function foldersOf(processId: number): string[] {
  return [tmpdir(), "/tmp", "/var/tmp"].flatMap((parent) =>
    readdirSync(parent).filter((name) => name.startsWith(`lenso-postgres-${processId}-`)),
  );
}

async function schemasIn(url: string): Promise<string[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    const rows: { nspname: string }[] =
      await sql`select nspname from pg_namespace where nspname like 'demo\\_%'`;
    return rows.map((row) => row.nspname);
  } finally {
    await sql.close();
  }
}
