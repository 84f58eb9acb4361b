import { expect, test } from "bun:test";
import { createTestClock } from "../../host-fixtures/clock.ts";
import { PossibleStates } from "./support/possible-states.ts";
import type { Answer, QueueCall } from "./support/queue-call.ts";
import { QueueModel } from "./support/queue-model.ts";

const clock = createTestClock();
const enqueue: QueueCall = {
  verb: "enqueue",
  caller: "producer",
  request: {
    queue: "mail",
    kind: "send",
    payload: {},
    idempotency_key: "k",
    available_at: clock.instant,
    max_attempts: 2,
  },
};
const claim: QueueCall = { verb: "claim", caller: "worker", queue: "mail" };
const token = (character: string): string => `job_${"lease_"}${character.repeat(43)}`;
const created: Answer = { value: { job_id: "job_1", created: true } };
const nothing: Answer = { refused: "no_job_available" };
const claimed: Answer = {
  value: {
    job_id: "job_1",
    queue: "mail",
    kind: "send",
    payload: {},
    attempt: 1,
    max_attempts: 2,
    lease_token: token("A"),
    lease_expires_at: "2026-01-01T00:00:20.000000Z",
  },
};

function emptyQueue(): PossibleStates {
  const jobTimes = { lease_seconds: 20, retry_base_seconds: 3, retry_max_seconds: 17 };
  return new PossibleStates(new QueueModel(jobTimes, clock));
}

test("calls that were under way together may have been carried out in either order", async () => {
  for (const answer of [claimed, nothing]) {
    await emptyQueue().observe([
      { call: claim, outcome: { answer } },
      { call: enqueue, outcome: { answer: created } },
    ]);
  }
});

test("an answer that no order explains is refused, and told with what was expected", async () => {
  const queue = emptyQueue();
  await queue.observe([{ call: enqueue, outcome: { answer: created } }]);
  const refused = queue.observe([{ call: claim, outcome: { answer: nothing } }]);
  await expect(refused).rejects.toThrow(/no state of the model explains[^]*no_job_available[^]*"attempt":1/);
});

test("a job that two claims got at once is refused", async () => {
  const queue = emptyQueue();
  await queue.observe([{ call: enqueue, outcome: { answer: created } }]);
  const twice = [claimed, claimed].map((answer) => ({ call: claim, outcome: { answer } }));
  await expect(queue.observe(twice)).rejects.toThrow("no state of the model explains");
});

test("what was cut off may have been carried out or not, until a later answer tells", async () => {
  const queue = emptyQueue();
  await queue.observe([{ call: enqueue, outcome: "unknown" }]);
  await queue.observe([
    { call: enqueue, outcome: { answer: { value: { job_id: "job_1", created: false } } } },
  ]);
  await queue.observe([{ call: claim, outcome: "unknown" }]);
  await queue.observe([{ call: claim, outcome: { answer: nothing } }]);
  const refused = queue.observe([{ call: claim, outcome: { answer: claimed } }]);
  await expect(refused).rejects.toThrow("no state of the model explains");
});

test("what was turned away at the door was not carried out", async () => {
  const queue = emptyQueue();
  await queue.observe([{ call: enqueue, outcome: "never" }]);
  const refused = queue.observe([{ call: claim, outcome: { answer: claimed } }]);
  await expect(refused).rejects.toThrow("no state of the model explains");
});
