import { afterAll, beforeAll, test } from "bun:test";
import { faultDatabase } from "./support/fault-database.ts";
import { type DeadWorkers, type KillPoint, killAtPoints } from "./support/kill-at-points.ts";

const quick = { do: "steps" } as const;
const claim = /delete from "jobs"\."ready"/;
const start = /set\s+job_id = \S+,\s+delivery = /;
const renew = /update "jobs"\."lease" set expires_at/;
const settle = /lease_until = null,\s+settled_by = /;
const complete = /delete from "jobs"\."lease"[\s\S]*'s', 'c'/;

/** What the server says of an update that met no row. */
const nothingChanged = /UPDATE 0\0/;

/** The record counts an attempt when it starts, so a claim that never got so far costs none. */
const points: readonly KillPoint[] = [
  {
    point: "claim sent",
    here: "the claim of the Jobs job is on its way",
    statement: claim,
    behaviour: quick,
    entered: { second: 1 },
  },
  {
    point: "claim committed, reply lost",
    here: "the Jobs job is leased, and nobody knows",
    statement: claim,
    at: "answered",
    behaviour: quick,
    entered: { second: 1 },
  },
  {
    point: "before the record's start",
    here: "the start of the attempt is on its way to the record",
    statement: start,
    behaviour: quick,
    entered: { second: 1 },
    refusedLate: nothingChanged,
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
    here: "the Jobs lease has been renewed, the record's not yet",
    statement: renew,
    at: "answered",
    behaviour: { do: "steps", hangAfter: 1 },
    pulses: true,
    entered: { dead: 1, second: 2 },
  },
  {
    point: "handler returned",
    here: "the settlement is on its way to the record",
    statement: settle,
    behaviour: quick,
    entered: { dead: 1, second: 2 },
    refusedLate: nothingChanged,
  },
  {
    point: "record settled",
    here: "the record has succeeded, and nobody knows",
    statement: settle,
    at: "answered",
    behaviour: quick,
    entered: { dead: 1 },
  },
  {
    point: "complete sent",
    here: "the record has succeeded, the completion of the Jobs job is on its way",
    statement: complete,
    behaviour: quick,
    entered: { dead: 1 },
  },
  {
    point: "complete committed, reply lost",
    here: "both have ended, and nobody knows",
    statement: complete,
    at: "answered",
    behaviour: quick,
    entered: { dead: 1 },
  },
];

let dead: DeadWorkers | undefined;
beforeAll(async () => {
  dead = await killAtPoints("lenso.jobs@1", await faultDatabase(), points);
}, 90_000);
afterAll(() => dead?.close());

test.concurrent.each(points.map((point) => [point.point, point.here, point] as const))(
  "lenso.jobs@1: a worker that is killed at: %s (%s) loses no job, and the job ends once",
  async (_, __, point) => dead?.finish(point),
  60_000,
);
