import { expect, test } from "bun:test";
import type { JobSubmitOutcome } from "../../job-provider/index.ts";
import { startProxy } from "../faults/support/proxy.ts";
import { eventually } from "../task-faults/support/eventually.ts";
import { statementGate } from "../task-faults/support/statement-gate.ts";
import { noticeOrder } from "./support/fault-orders.ts";
import type { HostProcess } from "./support/host-process.ts";
import { type FaultWorld, openFaultWorld } from "./support/open-fault-world.ts";

/** Ten submissions of the same order under the same key, all at once. */
async function submitTen(world: FaultWorld, process: HostProcess, key: string) {
  const submissions = Array.from({ length: 10 }, () => world.submission(noticeOrder, key));
  return (await process.ask({ do: "submit", submissions })) as JobSubmitOutcome[];
}

const idOf = (outcome: JobSubmitOutcome): string =>
  outcome.status === "accepted" ? outcome.reference.jobId : outcome.status;

/** One job, and one Jobs job that carries it, which is made behind the answer's back. */
async function expectOneJob({ sql }: FaultWorld): Promise<void> {
  const count = async () => {
    const [row] = await sql`
      select (select count(*)::int from job) as jobs, (select count(*)::int from jobs.jobs) as carriers`;
    return row;
  };
  await eventually("the job to be dispatched", async () => (await count()).carriers > 0);
  expect(await count()).toEqual({ jobs: 1, carriers: 1 });
}

test("twenty submissions of one key at once in two processes make one job, and another request is refused", async () => {
  await using world = await openFaultWorld();
  const processes = [world.process(), world.process()];
  await Promise.all(processes.map(({ ready }) => ready));
  const answers = await Promise.all(processes.map((process) => submitTen(world, process, "one")));
  const outcomes = answers.flat();
  expect(outcomes).toHaveLength(20);
  expect(new Set(outcomes.map(idOf)).size).toBe(1);
  expect(outcomes.filter((each) => each.status === "accepted" && !each.deduplicated)).toHaveLength(1);
  await expectOneJob(world);
  const other = { ...noticeOrder, settings: { subject: "something else" } };
  expect(await world.host.submit(world.submission(other, "one"))).toMatchObject({
    status: "refused",
    code: "SUBMISSION_KEY_CONFLICT",
    submissionKey: "one",
  });
  await expectOneJob(world);
});

test("a submission that arrives when its process is dead and others have come before makes no second job", async () => {
  await using world = await openFaultWorld();
  const gate = statementGate({ statement: /pg_advisory_xact_lock/, at: "sent", outliveClient: true });
  await using proxy = await startProxy(world.url, gate.tapLink);
  const [dying, other] = [world.process({ url: proxy.url }), world.process()];
  const submission = world.submission(noticeOrder, "two");
  const asked = dying.ask({ do: "submit", submissions: [submission] });
  asked.catch(() => undefined);
  await gate.reached;
  await dying.kill();
  await expect(asked).rejects.toThrow("before it answered");
  const outcomes = await submitTen(world, other, "two");
  expect(outcomes.filter((each) => each.status === "accepted" && !each.deduplicated)).toHaveLength(1);
  expect(await gate.release()).toMatch(/SELECT 1\0/); // the key's lock is its own now, and nobody is there to go on
  const repeated = await world.host.submit(submission);
  expect(repeated).toMatchObject({ status: "accepted", deduplicated: true });
  expect(new Set([...outcomes, repeated].map(idOf)).size).toBe(1);
  await expectOneJob(world);
});
