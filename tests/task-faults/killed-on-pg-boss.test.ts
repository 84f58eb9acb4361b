import { afterAll, beforeAll, test } from "bun:test";
import { faultDatabase } from "./support/fault-database.ts";
import { type DeadWorkers, type KillPoint, killAtPoints } from "./support/kill-at-points.ts";

const quick = { do: "steps" } as const;
const claim = /state = 'active',\s+started_on/;
const afterClaim = /set heartbeat_seconds = \$3/;
const touch = /SET heartbeat_on = \S+\s+WHERE name = \$1/;
const complete = /state = 'completed',\s+output = \$3/;
const commit = /^commit$/;

/** pg-boss's commands answer with the ids that they have changed. */
const nothingChanged = /\{\}/;

/** pg-boss's claim is the start, and counts as an attempt; its completion is the record. A failure takes a transaction. */
const points: readonly KillPoint[] = [
  {
    point: "claim sent",
    here: "the claim is on its way",
    statement: claim,
    behaviour: quick,
    entered: { second: 1 },
  },
  {
    point: "claim committed, reply lost",
    here: "the job is active, and nobody knows",
    statement: claim,
    at: "answered",
    behaviour: quick,
    entered: { second: 2 },
  },
  {
    point: "before the record's start",
    here: "the claim is known, and its heartbeat is about to be raised to the worker's",
    statement: afterClaim,
    behaviour: quick,
    entered: { second: 2 },
  },
  {
    point: "handler entry",
    here: "the handler's first line has run",
    behaviour: { do: "steps", hangAfter: 0 },
    entered: { dead: 1, second: 2 },
  },
  {
    point: "in the middle of the handler",
    here: "one of two steps is done",
    behaviour: { do: "steps", hangAfter: 1 },
    entered: { dead: 1, second: 2 },
  },
  {
    point: "pulse in flight",
    here: "a heartbeat is on its way",
    statement: touch,
    behaviour: { do: "steps", hangAfter: 1 },
    pulses: true,
    entered: { dead: 1, second: 2 },
    refusedLate: nothingChanged,
  },
  {
    point: "handler returned",
    here: "the completion is on its way",
    statement: complete,
    behaviour: quick,
    entered: { dead: 1, second: 2 },
    refusedLate: nothingChanged,
  },
  {
    point: "record settled",
    here: "the job has failed in a transaction that is not committed",
    statement: commit,
    behaviour: { do: "fail" },
    entered: { dead: 1, second: 2 },
  },
  {
    point: "complete sent",
    here: "the failure has committed, and nobody knows",
    statement: commit,
    at: "answered",
    behaviour: { do: "fail" },
    entered: { dead: 1, second: 2 },
  },
  {
    point: "complete committed, reply lost",
    here: "the completion has committed, and nobody knows",
    statement: complete,
    at: "answered",
    behaviour: quick,
    entered: { dead: 1 },
  },
];

let dead: DeadWorkers | undefined;
beforeAll(async () => {
  dead = await killAtPoints("pg-boss", await faultDatabase(), points);
}, 90_000);
afterAll(() => dead?.close());

test.concurrent.each(points.map((point) => [point.point, point.here, point] as const))(
  "pg-boss: a worker that is killed at: %s (%s) loses no job, and the job ends once",
  async (_, __, point) => dead?.finish(point),
  60_000,
);
