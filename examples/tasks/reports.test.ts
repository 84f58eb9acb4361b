import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { SQL } from "bun";
import { createManageAdapter, defineManage, startApp } from "lenso-jobs-plugin/host-fixtures";
import { migratePostgresTaskQueue } from "lenso-jobs-plugin/tasks/postgres";
import { root } from "../../tests/support/repository-files.ts";
import { testDatabase } from "../../tests/support/test-database.ts";
import { createSignedSessions, type SignedSessions } from "./auth/signed-sessions.ts";
import { createTasksOperations } from "./src/create-tasks-operations.ts";
import { migrateReports } from "./src/migrate-reports.ts";
import type { ReportRow } from "./src/report-input.ts";
import { createReportOwnership, requestKey } from "./src/report-ownership.ts";
import { createReportPlugins } from "./src/report-plugins.ts";

const ada = { realmId: "acme", subjectId: "ada" };
const eve = { realmId: "acme", subjectId: "eve" };
const key = randomBytes(32);
const rows: readonly ReportRow[] = [
  { label: "rent", amountCents: 90_000 },
  { label: "food", amountCents: 31_250 },
];
const manyRows = Array.from({ length: 60 }, (_, n) => ({ label: `l${n % 7}`, amountCents: n * 100 }));

let url: string;
let sql: SQL;
let sessions: SignedSessions;

beforeAll(async () => {
  ({ url } = await testDatabase());
  process.env["DATABASE_URL"] = url; // what the application reads; each test file has an environment of its own
  sql = new SQL(url, { max: 3 });
  sessions = createSignedSessions({ sql, key });
  await migratePostgresTaskQueue({ connectionString: url, queueName: "reports" });
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
    [Symbol.asyncDispose]: () => app.stop(),
  };
}

async function sessionOf(identity: typeof ada, seconds = 600): Promise<string> {
  return (await sessions.issue(identity, seconds)).session;
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
    await expect(appOf(refused)).rejects.toThrow();
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

test("a crash between reservation, enqueue and mapping leaves nothing to anybody, until the owner asks again", async () => {
  const ownership = createReportOwnership(sql);
  await using owner = await appOf(await sessionOf(ada));
  await using stranger = await appOf(await sessionOf(eve));

  const reservation = await ownership.reserve(ada, "orphan", rows); // and here it crashed
  if (reservation === null) throw new Error("the report is somebody's");
  expect(await stranger.call("submit", { reportId: "orphan", rows })).toBe("report-unavailable");

  const queue = owner.app.get(owner.plugins.tasks);
  const { task } = owner.plugins;
  const job = { reportId: "orphan", rows, revision: reservation.revision };
  const jobId = await queue.enqueue(task, job, { deduplicationKey: requestKey(ada, reservation) }); // or here
  expect(await owner.call("query", { jobId })).toBeNull();
  expect(await stranger.call("query", { jobId })).toBeNull();

  expect(await owner.call("submit", { reportId: "orphan", rows })).toEqual({ reportId: "orphan", jobId });
  expect(await owner.call("query", { jobId })).toMatchObject({ state: "pending" });
  expect(await stranger.call("query", { jobId })).toBeNull();
  await expect(
    sql`update task_example_report_owners set subject_id = 'eve' where report_id = 'orphan'`,
  ).rejects.toThrow("the owner of a report never changes");
  await owner.call("cancel", { jobId });
});

test("a report whose worker is killed goes on where it was, in another worker, and ends once", async () => {
  await using owner = await appOf(await sessionOf(ada));
  const { jobId } = (await owner.call("submit", { reportId: "killed", rows: manyRows })) as { jobId: string };
  const doomed = startWorker(300);
  const done = async () =>
    ((await owner.call("report", { reportId: "killed" })) as { rowsDone: number } | null)?.rowsDone ?? 0;
  await until("some rows", async () => (await done()) >= 20);
  doomed.child.kill("SIGKILL");
  await doomed.child.exited;
  const before = await done();
  expect(before).toBeLessThan(60);
  await sql`update pgboss.job set heartbeat_on = now() - interval '1 hour' where state = 'active'`; // as if it had been dead for long
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
  const env = {
    ...(process.env as Record<string, string>),
    TASK_SESSION_KEY: key.toString("hex"),
    TASK_AUTH_SOURCE_MODULE: "./auth/signed-sessions.ts",
    TASK_SESSION: await sessionOf(ada),
  };
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
