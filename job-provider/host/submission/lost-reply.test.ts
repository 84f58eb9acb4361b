import { expect, test } from "bun:test";
import { startProxy } from "../../../tests/faults/support/proxy.ts";
import { statementGate } from "../../../tests/task-faults/support/statement-gate.ts";
import { openHostWorld } from "../testing/host-world.ts";

const accepting = /insert into "job_host"\.job/;

test("a submission whose reply was lost after the commit is unknown, and its key finds the job", async () => {
  await using world = await openHostWorld();
  const gate = statementGate({ statement: /^commit/i, at: "answered" });
  await using proxy = await startProxy(world.url, gate.tapLink);
  const host = world.host({ database: { connectionString: proxy.url } });
  const submission = world.submission();
  const submitting = host.submit(submission);
  await gate.reached;
  proxy.cut();
  const outcome = await submitting;
  expect(outcome).toEqual({
    status: "unknown",
    hostId: "test",
    submissionKey: submission.submissionKey,
    requestDigest: expect.stringContaining("sha256:"),
  });
  expect(await world.host().submit(submission)).toMatchObject({
    status: "accepted",
    deduplicated: true,
    requestDigest: outcome.status === "unknown" ? outcome.requestDigest : "",
  });
});

test("a submission that was lost before the server saw it is unknown too, and its key makes the job", async () => {
  await using world = await openHostWorld();
  const gate = statementGate({ statement: accepting, at: "sent" });
  await using proxy = await startProxy(world.url, gate.tapLink);
  const submission = world.submission();
  const submitting = world.host({ database: { connectionString: proxy.url } }).submit(submission);
  await gate.reached;
  proxy.cut();
  expect(await submitting).toMatchObject({ status: "unknown" });
  expect(await world.host().submit(submission)).toMatchObject({ status: "accepted", deduplicated: false });
});

test("a caller that gives up while the commit is under way learns nothing, and the job is dispatched", async () => {
  await using world = await openHostWorld();
  const gate = statementGate({ statement: accepting, at: "sent" });
  await using proxy = await startProxy(world.url, gate.tapLink);
  const host = world.host({ database: { connectionString: proxy.url } });
  const aborting = new AbortController();
  const submission = world.submission({ signal: aborting.signal });
  const submitting = host.submit(submission);
  await gate.reached;
  aborting.abort();
  expect(await submitting).toMatchObject({ status: "unknown" });
  await gate.release();
  await host.close();
  const repeated = await world.host().submit({ ...submission, signal: new AbortController().signal });
  if (repeated.status !== "accepted") throw new Error(repeated.status);
  expect(repeated.deduplicated).toBe(true);
  expect(await world.row(repeated.reference)).toMatchObject({ job_id: expect.any(String) });
});

test("what the server refuses is an error of the database, and no unknown outcome", async () => {
  await using world = await openHostWorld();
  await world.sql.unsafe("alter table job add constraint planted check (attempts > 0) not valid").simple();
  try {
    await expect(world.host().submit(world.submission())).rejects.toMatchObject({ code: "unavailable" });
  } finally {
    await world.sql.unsafe("alter table job drop constraint planted").simple();
  }
});
