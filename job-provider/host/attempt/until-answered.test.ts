import { expect, test } from "bun:test";
import { DatabaseError } from "../../../plugin/store/drivers/database-error.ts";
import { createTrouble } from "../../../tasks/jobs/create-trouble.ts";
import { RecordDatabase, RecordsClosed } from "../../../tasks/jobs/records/record-database.ts";
import { ClaimLost } from "../../../tasks/worker/abort-reasons.ts";
import { AttemptGate } from "./attempt-gate.ts";
import { JobAttemptOver } from "./attempt-over.ts";
import { untilAnswered } from "./until-answered.ts";

test("asking ends when the records are closed", async () => {
  const database = new RecordDatabase({ connectionString: "postgres://nobody@127.0.0.1:1/nowhere" });
  const gate = new AttemptGate(new AbortController().signal);
  let asked = 0;
  const asking = untilAnswered(gate, createTrouble(undefined), async () => {
    asked += 1;
    if (asked === 2) await database.close();
    return database.query("select 1", []);
  });
  await expect(asking).rejects.toBeInstanceOf(RecordsClosed);
  expect(asked).toBe(2);
});

test("asking ends when the attempt is over, however the database fails", async () => {
  const gone = new AbortController();
  const told: unknown[] = [];
  const trouble = createTrouble((error) => told.push(error));
  const away = new DatabaseError("ECONNREFUSED", "away");
  const asking = untilAnswered(new AttemptGate(gone.signal), trouble, async () => {
    queueMicrotask(() => gone.abort(new ClaimLost({ jobId: "any", attempt: 1 }, "its lease is over")));
    throw away;
  });
  await expect(asking).rejects.toBeInstanceOf(JobAttemptOver);
  expect(told.every((error) => error === away)).toBe(true);
});
