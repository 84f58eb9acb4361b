import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { SQL } from "bun";
import { createManageAdapter, defineManage, startApp } from "lenso-jobs-plugin/host-fixtures";
import { migratePostgresTaskQueue } from "../../tasks/postgres/index.ts";
import { migratedDatabase } from "../../tasks/postgres/testing/open-test-queue.ts";
import { root } from "../../tests/support/repository-files.ts";
import { createSignedSessions, type SignedSessions } from "./auth/signed-sessions.ts";
import { createTasksOperations } from "./src/create-tasks-operations.ts";
import { SessionRefused } from "./src/identity.ts";
import { migrateReports } from "./src/migrate-reports.ts";
import { createProgressDisplay } from "./src/progress-display.ts";
import type { ReportRow } from "./src/report-input.ts";
import { createReportOwnership, requestKey } from "./src/report-ownership.ts";
import { createReportPlugins } from "./src/report-plugins.ts";
import { createReportService } from "./src/report-service.ts";
import { settings } from "./src/settings.ts";

const ada = { realmId: "acme", subjectId: "ada" };
const eve = { realmId: "acme", subjectId: "eve" };
const key = randomBytes(32);
const rows: readonly ReportRow[] = [
  { label: "rent", amountCents: 90_000 },
  { label: "food", amountCents: 31_250 },
];
const otherRows: readonly ReportRow[] = [{ label: "rent", amountCents: 95_000 }];
const manyRows = Array.from({ length: 60 }, (_, n) => ({ label: `l${n % 7}`, amountCents: n * 100 }));

let url: string;
let sql: SQL;
let sessions: SignedSessions;

beforeAll(async () => {
  ({ url } = await migratedDatabase());
  await migratePostgresTaskQueue({ connectionString: url, queueName: settings.queueName() });
  process.env["DATABASE_URL"] = url; // what the application reads; each test file has an environment of its own
  sql = new SQL(url, { max: 3 });
  sessions = createSignedSessions({ sql, key });
  await migrateReports(sql);
}, 60_000);

afterAll(() => sql.close());

/** The application as one identity has it, without a worker. */
async function appOf(session: string) {
  const plugins = createReportPlugins();
  const { plugin, operations } = createTasksOperations({
    plugins,
    authSource: async () => ({ connectTaskAuth: () => ({ source: sessions }) }),
    session: () => session,
  });
  const { database, reports, tasks } = plugins;
  const app = await startApp({ plugins: [database, reports, tasks, plugin] });
  const manage = defineManage({ plugin, operations });
  const adapter = createManageAdapter({ running: app, manage, canList: () => true, maxOutputBytes: 65_536 });
  return {
    plugins,
    app,
    async call(name: string, input: unknown) {
      const outcome = await adapter.invoke(name, input);
      return outcome.ok ? outcome.data : outcome.error.code;
    },
    /** Works on what is due, in this process. */
    work: () => app.get(plugins.tasks).runBatch(),
    [Symbol.asyncDispose]: () => app.stop(),
  };
}

async function sessionOf(identity: typeof ada, seconds = 600): Promise<string> {
  return (await sessions.issue(identity, seconds)).session;
}

/** What a process reads that acts for somebody. */
async function environmentOf(identity: typeof ada): Promise<Record<string, string>> {
  return {
    ...(process.env as Record<string, string>),
    TASK_SESSION_KEY: key.toString("hex"),
    TASK_AUTH_SOURCE_MODULE: "./auth/signed-sessions.ts",
    TASK_SESSION: await sessionOf(identity),
  };
}

/** A worker process, as `bun run worker` starts it. */
function startWorker(pauseMs = 0) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "worker.ts")], {
    cwd: root,
    env: { ...process.env, REPORT_PAUSE_MS: String(pauseMs) },
    stdout: "ignore",
    stderr: "ignore",
  });
  return {
    child,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

async function until(what: string, fits: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 40_000; Date.now() < deadline; await Bun.sleep(50))
    if (await fits()) return;
  throw new Error(`waited in vain for ${what}`);
}

test("another subject, and the same subject of another realm, meet nothing of a report in any operation", async () => {
  await using owner = await appOf(await sessionOf(ada));
  const { jobId } = (await owner.call("submit", { reportId: "private", rows })) as { jobId: string };
  for (const stranger of [eve, { realmId: "other", subjectId: "ada" }]) {
    await using other = await appOf(await sessionOf(stranger));
    expect(await other.call("query", { jobId })).toBeNull();
    expect(await other.call("cancel", { jobId })).toEqual({ outcome: "missing" });
    expect(await other.call("retry", { jobId })).toEqual({ retried: false });
    expect(await other.call("report", { reportId: "private" })).toBeNull();
    expect(await other.call("submit", { reportId: "private", rows })).toBe("report-unavailable");
  }
  expect(await owner.call("query", { jobId })).toEqual({
    state: "pending",
    attempt: 0,
    maxAttempts: 5,
    cancelRequested: false,
  });
  expect(await owner.call("submit", { reportId: "private", rows })).toEqual({ reportId: "private", jobId });
  expect(await owner.call("cancel", { jobId })).toEqual({ outcome: "cancelled" });
});

test("forged, expired and revoked sessions start nothing", async () => {
  const session = await sessionOf(ada);
  const [version, body = "", mac] = session.split(".");
  const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
  const forged = Buffer.from(JSON.stringify({ ...claims, sub: "eve" })).toString("base64url");
  const foreign = await createSignedSessions({ sql, key: randomBytes(32) }).issue(ada, 600);
  const revoked = await sessions.issue(ada, 600);
  await sessions.revoke(revoked.sessionId);
  for (const refused of [
    [version, forged, mac].join("."),
    foreign.session,
    await sessionOf(ada, -1),
    revoked.session,
    "ada",
    "",
  ])
    await expect(appOf(refused)).rejects.toThrow(SessionRefused);
});

test("a session that is revoked while the application runs ends every operation", async () => {
  const { session, sessionId } = await sessions.issue(ada, 600);
  await using owner = await appOf(session);
  const { jobId } = (await owner.call("submit", { reportId: "until-revoked", rows })) as { jobId: string };
  await sessions.revoke(sessionId);
  expect(await owner.call("query", { jobId })).toBe("session-refused");
  expect(await owner.call("cancel", { jobId })).toBe("session-refused");
  expect(await owner.call("retry", { jobId })).toBe("session-refused");
  expect(await owner.call("report", { reportId: "until-revoked" })).toBe("session-refused");
  expect(await owner.call("submit", { reportId: "until-revoked", rows })).toBe("session-refused");
});

/** Runs a submit in a process of its own and kills it at the moment when it waits for a table. */
async function submitAndDieAt(table: string, reportId: string): Promise<void> {
  const blocker = await sql.reserve();
  // The command itself: `bun run` would be another process, and its death not the command's.
  const cli = ["host-fixtures/app-command/cli.ts", "call", "tasks", "submit"];
  try {
    await blocker.unsafe(`begin; lock table ${table} in access exclusive mode`);
    const child = Bun.spawn([process.execPath, ...cli, "--root", "examples/tasks", "--stdin", "--json"], {
      cwd: root,
      env: await environmentOf(ada),
      stdin: new Blob([JSON.stringify({ reportId, rows })]),
      stdout: "ignore",
      stderr: "ignore",
    });
    let waiting: { pid: number }[] = [];
    await until(`a submit that waits for ${table}`, async () => {
      waiting = await sql`
        select distinct pid from pg_locks
        where not granted and relation = ${table}::regclass
          and database = (select oid from pg_database where datname = current_database())`;
      return waiting.length > 0;
    }).finally(() => child.kill("SIGKILL"));
    await child.exited;
    // What it sent last must not happen after its death.
    for (const { pid } of waiting) await sql`select pg_terminate_backend(${pid}, 5000)`;
  } finally {
    await blocker.unsafe("rollback");
    await blocker.release();
  }
}

test("a submit killed between reservation and enqueue leaves an id that is only its owner's, and he submits again", async () => {
  await using owner = await appOf(await sessionOf(ada));
  await using stranger = await appOf(await sessionOf(eve));
  await submitAndDieAt("pgboss.lenso_task_key", "reserved");

  expect(await owner.app.get(owner.plugins.tasks).lookupDeduplicationKey(keyOf("reserved"))).toBeNull();
  expect(await stranger.call("submit", { reportId: "reserved", rows })).toBe("report-unavailable");
  expect(await stranger.call("report", { reportId: "reserved" })).toBeNull();
  const { jobId } = (await owner.call("submit", { reportId: "reserved", rows })) as { jobId: string };
  expect(await owner.call("cancel", { jobId })).toEqual({ outcome: "cancelled" });
});

test("a submit killed between enqueue and mapping leaves a job that nobody reaches until its owner submits again", async () => {
  await using owner = await appOf(await sessionOf(ada));
  await using stranger = await appOf(await sessionOf(eve));
  await submitAndDieAt("task_example_report_jobs", "unmapped");

  const held = await owner.app.get(owner.plugins.tasks).lookupDeduplicationKey(keyOf("unmapped"));
  const jobId = held?.jobId ?? "";
  expect(held?.status).toMatchObject({ state: "pending" });
  for (const each of [owner, stranger]) {
    expect(await each.call("query", { jobId })).toBeNull();
    expect(await each.call("cancel", { jobId })).toEqual({ outcome: "missing" });
    expect(await each.call("retry", { jobId })).toEqual({ retried: false });
  }
  expect(await owner.call("submit", { reportId: "unmapped", rows })).toEqual({ reportId: "unmapped", jobId });
  expect(await stranger.call("query", { jobId })).toBeNull();
  expect(await owner.call("cancel", { jobId })).toEqual({ outcome: "cancelled" });
});

function keyOf(reportId: string): string {
  return requestKey(ada, { reportId, revision: 1 });
}

test("a report's owner never changes, whatever statement tries", async () => {
  await createReportOwnership(sql).reserve(ada, "kept", rows);
  await expect(
    sql`update task_example_report_owners set subject_id = 'eve' where report_id = 'kept'`,
  ).rejects.toThrow("the owner of a report never changes");
});

test("the same report id with other rows is a new job, and overwrites the report", async () => {
  await using owner = await appOf(await sessionOf(ada));
  const submit = async (given: readonly ReportRow[]) =>
    ((await owner.call("submit", { reportId: "again", rows: given })) as { jobId: string }).jobId;
  const sumOf = async () => {
    const report = await owner.call("report", { reportId: "again" });
    return (report as { summary: { all: { sum: number } } }).summary.all.sum;
  };
  const first = await submit(rows);
  expect(await submit(rows)).toBe(first);
  await owner.work();
  expect(await sumOf()).toBe(121_250);
  const second = await submit(otherRows);
  expect(second).not.toBe(first);
  await owner.work();
  expect(await sumOf()).toBe(95_000);
  expect([first, second]).not.toContain(await submit(rows)); // as at first, and yet a request of its own
  await owner.work();
  expect(await sumOf()).toBe(121_250);
});

test("an older request that runs late leaves the newer report alone", async () => {
  const { write, read } = createReportService({ sql });
  const { signal } = new AbortController();
  await write({ reportId: "late", revision: 2, rows: otherRows }, signal);
  const late = await write({ reportId: "late", revision: 1, rows: manyRows }, signal);
  expect(late).toEqual({ revision: 1, rowsDone: 0, superseded: true });
  expect(await read("late")).toMatchObject({ revision: 2, rowsTotal: 1, summary: { all: { sum: 95_000 } } });
});

test("a job that failed for good is retried by its owner, and its report is written", async () => {
  await using owner = await appOf(await sessionOf(ada));
  await sql`alter table task_example_reports add constraint refused check (report_id <> 'fails')`;
  const { jobId } = (await owner.call("submit", { reportId: "fails", rows })) as { jobId: string };
  await sql`update pgboss.job set retry_limit = 0 where id = ${jobId}::uuid`; // as if this were its last attempt
  await owner.work();
  expect(await owner.call("query", { jobId })).toMatchObject({ state: "failed", attempt: 1 });
  expect(await owner.call("report", { reportId: "fails" })).toBeNull();

  await sql`alter table task_example_reports drop constraint refused`;
  expect(await owner.call("retry", { jobId })).toEqual({ retried: true });
  await owner.work();
  expect(await owner.call("query", { jobId })).toMatchObject({ state: "succeeded", attempt: 2 });
  expect(await owner.call("report", { reportId: "fails" })).toMatchObject({ rowsDone: 2 });
});

test("a report that is cancelled while it is written stops at the chunk where it was", async () => {
  await using owner = await appOf(await sessionOf(ada));
  const { jobId } = (await owner.call("submit", { reportId: "stopped", rows: manyRows })) as {
    jobId: string;
  };
  await using _worker = startWorker(300);
  const done = async () => rowsDone(await owner.call("report", { reportId: "stopped" }));
  await until("some rows", async () => (await done()) >= 10);
  expect(await owner.call("cancel", { jobId })).toEqual({ outcome: "requested" });
  await until("the job's end", async () => {
    const status = (await owner.call("query", { jobId })) as { state: string };
    return status.state === "cancelled";
  });
  expect(await done()).toBeLessThan(60);
  expect(await owner.call("cancel", { jobId })).toEqual({ outcome: "terminal" });
}, 60_000);

function rowsDone(report: unknown): number {
  return (report as { readonly rowsDone: number } | null)?.rowsDone ?? 0;
}

test("a worker that is told to end writes the report under way to its end, and ends well", async () => {
  await using owner = await appOf(await sessionOf(ada));
  const { jobId } = (await owner.call("submit", { reportId: "drained", rows: manyRows })) as {
    jobId: string;
  };
  const worker = startWorker(100);
  await until("some rows", async () => rowsDone(await owner.call("report", { reportId: "drained" })) >= 10);
  worker.child.kill("SIGTERM");
  expect(await worker.child.exited).toBe(0);
  expect(await owner.call("report", { reportId: "drained" })).toMatchObject({ rowsDone: 60 });
  expect(await owner.call("query", { jobId })).toMatchObject({ state: "succeeded", attempt: 1 });
}, 60_000);

test("a report whose worker is killed goes on where it was, in another worker, and ends once", async () => {
  await using owner = await appOf(await sessionOf(ada));
  const { jobId } = (await owner.call("submit", { reportId: "killed", rows: manyRows })) as { jobId: string };
  const doomed = startWorker(300);
  const done = async () => rowsDone(await owner.call("report", { reportId: "killed" }));
  await until("some rows", async () => (await done()) >= 20);
  doomed.child.kill("SIGKILL");
  await doomed.child.exited;
  const before = await done();
  expect(before).toBeLessThan(60);
  // As if it had been dead for long, and nobody had looked since.
  await sql`update pgboss.job set heartbeat_on = now() - interval '1 hour' where state = 'active'`;
  await sql`update pgboss.queue set monitor_on = null, monitor_claim_on = null where name = 'reports'`;
  await using _worker = startWorker();
  await until("the report's end", async () => (await done()) === 60);
  await until("the job's end", async () => {
    const status = (await owner.call("query", { jobId })) as { state: string; attempt: number };
    return status.state === "succeeded" && status.attempt === 2;
  });
  expect(await owner.call("report", { reportId: "killed" })).toMatchObject({
    revision: 1,
    rowsTotal: 60,
    summary: { all: { count: 60, sum: 177_000 } },
  });
  expect(await owner.call("retry", { jobId })).toEqual({ retried: false });
}, 60_000);

test("an MCP client submits, queries, cancels and retries, and has no other tool", async () => {
  const client = new Client({ name: "test", version: "1.0.0" });
  const env = await environmentOf(ada);
  const args = ["run", "--silent", "mcp", "--root", "examples/tasks"];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd: root, env, stderr: "ignore" }),
  );
  const call = async (name: string, input: Record<string, unknown>) => {
    const { content, isError } = (await client.callTool({ name, arguments: input })) as CallToolResult;
    const [first] = content;
    if (first?.type !== "text") throw new Error("expected a text");
    return { isError: isError === true, data: JSON.parse(first.text) as Record<string, unknown> };
  };
  try {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["submit", "query", "cancel", "retry"]);
    const submitted = await call("submit", { reportId: "by-tool", rows });
    const { jobId } = submitted.data as { jobId: string };
    expect((await call("query", { jobId })).data).toMatchObject({ state: "pending", attempt: 0 });
    expect((await call("cancel", { jobId })).data).toEqual({ outcome: "cancelled" });
    expect((await call("retry", { jobId })).data).toEqual({ retried: false });
    const taken = await createReportOwnership(sql).reserve(eve, "by-eve", rows);
    expect(taken).not.toBeNull();
    expect(await call("submit", { reportId: "by-eve", rows })).toMatchObject({ isError: true });
    expect(await call("submit", { reportId: "by-tool", rows, subjectId: "eve" })).toMatchObject({
      isError: true,
    });
  } finally {
    await client.close();
  }
}, 30_000);

test("progress is one line that changes on a terminal, and a line a quarter elsewhere", () => {
  const shownOn = (isTTY: boolean): string => {
    let text = "";
    const display = createProgressDisplay({ isTTY, write: (more) => (text += more) });
    for (const done of [5, 10, 15, 20]) display.show({ reportId: "r", rowsDone: done, rowsTotal: 20 });
    display.end("r");
    display.show({ reportId: "s", rowsDone: 1, rowsTotal: 20 });
    display.interrupt(() => (text += "a line of the log\n"));
    display.end("s");
    return text;
  };
  expect(shownOn(false).trimEnd().split("\n")).toEqual([
    "r [#####---------------] 5/20 rows",
    "r [##########----------] 10/20 rows",
    "r [###############-----] 15/20 rows",
    "r [####################] 20/20 rows",
    "s [#-------------------] 1/20 rows",
    "a line of the log",
    "s [#-------------------] 1/20 rows, stopped",
  ]);
  const whole = shownOn(true);
  expect(whole.split("\n")).toHaveLength(4); // the end of r, the log's line, the end of s, and nothing below
  expect(whole).toContain("\r\u001B[Ka line of the log\n");
});
