import { expect, test } from "bun:test";
import fc from "fast-check";
import { refusalOf } from "../testing/refusal-of.ts";
import { digestWith, validSubmission } from "../testing/valid-submission.ts";
import type { JobAcceptedEvent, JobLifecycleEvent, JobProjectionEvent } from "./job-events.ts";
import { canMoveJob, isTerminalJobState, type JobLifecycleState } from "./job-lifecycle.ts";
import type { JobSnapshot } from "./job-snapshot.ts";
import { reduceJobSnapshot } from "./reduce-job-snapshot.ts";

const reference = { hostId: "host-1", jobId: "job-1" };
const acceptance = (): JobAcceptedEvent => {
  const { provider, input } = validSubmission();
  return {
    type: "job-accepted",
    revision: 1,
    reference: { ...reference },
    provider,
    input,
    configuration: {
      value: { cells: [1] },
      digest: digestWith("e"),
      providerManifestDigest: digestWith("a"),
    },
  } as unknown as JobAcceptedEvent;
};
const moved = (revision: number, state: JobLifecycleState): JobLifecycleEvent => ({
  type: "job-lifecycle-changed",
  revision,
  reference: { ...reference },
  state,
});
const fold = (events: readonly JobProjectionEvent[]): JobSnapshot | undefined =>
  events.reduce<JobSnapshot | undefined>(reduceJobSnapshot, undefined);
const queued = (): JobSnapshot => reduceJobSnapshot(undefined, acceptance());

/** Written down once more, as the contract has it. */
const table: Readonly<Record<JobLifecycleState, string>> = {
  queued: "running waiting attention_required failed cancelled",
  running: "waiting attention_required completed failed cancelled",
  waiting: "queued running attention_required completed failed cancelled",
  attention_required: "queued running waiting completed failed cancelled",
  completed: "",
  failed: "",
  cancelled: "",
};
const states = Object.keys(table) as JobLifecycleState[];
const pairs = states.flatMap((from) => states.map((to) => [from, to] as const));
/** The events that lead to each state. */
const ways: Readonly<Record<JobLifecycleState, readonly JobLifecycleState[]>> = {
  queued: [],
  running: ["running"],
  waiting: ["waiting"],
  attention_required: ["attention_required"],
  completed: ["running", "completed"],
  failed: ["failed"],
  cancelled: ["cancelled"],
};
const jobIn = (state: JobLifecycleState): JobSnapshot =>
  ways[state].reduce<JobSnapshot>(
    (job, next) => reduceJobSnapshot(job, moved(job.revision + 1, next)),
    queued(),
  );

test("acceptance queues the job with all that it is bound to", () => {
  const { type: _type, ...bound } = acceptance();
  expect(queued()).toEqual({ ...bound, state: "queued" });
});

test.each(pairs)("from %s to %s, the table decides", (from, to) => {
  const allowed = table[from].split(" ").includes(to);
  const before = jobIn(from);
  const move = () => reduceJobSnapshot(before, moved(before.revision + 1, to));
  expect(before.state).toBe(from);
  expect(canMoveJob(from, to)).toBe(allowed);
  if (allowed) expect(move()).toEqual({ ...before, revision: before.revision + 1, state: to });
  else expect(refusalOf(move)).toBe(`/state: a job never goes from ${from} to ${to}`);
});

test.each(states)("%s is left never, or by the table", (state) => {
  expect(isTerminalJobState(state)).toBe(table[state] === "");
});

test("a retry goes from running over waiting to queued", () => {
  const events = [acceptance(), moved(2, "running"), moved(3, "waiting"), moved(4, "queued")];
  expect(fold(events)).toMatchObject({ revision: 4, state: "queued" });
});

test.each([
  ["a gap", moved(3, "running"), "/revision: expected revision 2, got 3"],
  ["a duplicate", moved(1, "running"), "/revision: expected revision 2, got 1"],
  ["no number", { ...moved(2, "running"), revision: "2" }, "/revision: expected revision 2, got no number"],
  ["another job", { ...moved(2, "running"), reference: { ...reference, jobId: "job-2" } }, "/reference: the"],
  ["another host", { ...moved(2, "running"), reference: { ...reference, hostId: "h" } }, "/reference: the"],
  [
    "half a reference",
    { ...moved(2, "running"), reference: { jobId: "job-1" } },
    "/reference/hostId: missing",
  ],
  ["a second acceptance", acceptance(), "/type: the job is accepted already"],
  ["no state", { ...moved(2, "running"), state: "paused" }, "/state: no state of a job"],
  ["a state of every object", { ...moved(2, "running"), state: "toString" }, "/state: no state of a job"],
  ["no event", { ...moved(2, "running"), type: "job-deleted" }, "/type: no such event"],
  ["a further key", { ...moved(2, "running"), reason: "x" }, "/reason: no such key"],
  ["nothing", null, "the value: expected an event"],
])("%s is refused", (_what, event, message) => {
  expect(refusalOf(() => reduceJobSnapshot(queued(), event as JobProjectionEvent))).toStartWith(message);
});

test.each([
  ["a job starts with a move", moved(1, "running"), "/type: the first event of a job accepts it"],
  ["revision 0", { ...acceptance(), revision: 0 }, "/revision: the first event has revision 1"],
  ["revision 2", { ...acceptance(), revision: 2 }, "/revision: the first event has revision 1"],
  ["a part is missing", { ...acceptance(), input: undefined }, "/input: expected an object"],
  ["it brings a state", { ...acceptance(), state: "running" }, "/state: no such key"],
])("an acceptance is refused when %s", (_what, event, message) => {
  expect(refusalOf(() => reduceJobSnapshot(undefined, event as JobProjectionEvent))).toStartWith(message);
});

test("a snapshot is frozen at every level and shares nothing with its events", () => {
  const event = acceptance();
  const job = reduceJobSnapshot(undefined, event);
  const next = reduceJobSnapshot(job, moved(2, "running"));
  Object.assign(event.configuration.value as object, { cells: "changed" });
  Object.assign(event.reference, { jobId: "changed" });
  for (const snapshot of [job, next]) {
    expect(snapshot).toMatchObject({ reference, configuration: { value: { cells: [1] } } });
    for (const object of objectsIn(snapshot)) expect(Object.isFrozen(object)).toBe(true);
  }
  expect(job).toMatchObject({ revision: 1, state: "queued" });
});

test("a snapshot that was stored and read again goes on, owned", () => {
  const stored = JSON.parse(JSON.stringify(jobIn("running"))) as JobSnapshot;
  const next = reduceJobSnapshot(stored, moved(3, "completed"));
  Object.assign(stored.input.revision, { workspaceId: "changed" });
  expect(next).toEqual(jobIn("completed"));
  for (const object of objectsIn(next)) expect(Object.isFrozen(object)).toBe(true);
});

test.each([
  [{ revision: 0 }, "/snapshot/revision"],
  [{ state: "paused" }, "/snapshot/state"],
  [{ provider: {} }, "/snapshot/provider/id: missing"],
])("a stored snapshot with %j is refused", (change, message) => {
  const stored = { ...jobIn("running"), ...change } as JobSnapshot;
  expect(refusalOf(() => reduceJobSnapshot(stored, moved(3, "completed")))).toStartWith(message);
});

test("an event with an accessor is refused unread", () => {
  let runs = 0;
  const get = (): string => {
    runs += 1;
    return "running";
  };
  const event = Object.defineProperty({ ...moved(2, "running") }, "state", { get, enumerable: true });
  expect(refusalOf(() => reduceJobSnapshot(queued(), event))).toBe("/state: an accessor");
  const typed = Object.defineProperty({ ...moved(2, "running") }, "type", { get, enumerable: true });
  expect(refusalOf(() => reduceJobSnapshot(queued(), typed as never))).toBe("/type: an accessor");
  expect(runs).toBe(0);
});

test("of any sequence of events exactly those are taken that the table allows", () => {
  const step = fc.record({
    accept: fc.constantFrom(true, false, false, false, false, false, false),
    off: fc.constantFrom(0, 0, 0, 0, 0, 0, -1, 1),
    foreign: fc.constantFrom(false, false, false, false, false, true),
    state: fc.constantFrom(...states),
  });
  let taken = 0;
  let refused = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12, minLength: 1 }), (steps) => {
      let job: JobSnapshot | undefined;
      // Most sequences begin as they should, so that there is something to go on with.
      for (const [index, { accept, off, foreign, state }] of [
        { accept: true, off: 0, foreign: false, state: "queued" as const },
        ...steps,
      ].entries()) {
        const event = accept
          ? { ...acceptance(), revision: 1 + off }
          : {
              ...moved((job?.revision ?? index) + 1 + off, state),
              reference: foreign ? { ...reference, jobId: "job-2" } : reference,
            };
        const allowed = accept
          ? job === undefined && off === 0
          : job !== undefined && off === 0 && !foreign && table[job.state].split(" ").includes(state);
        const before = JSON.stringify(job);
        if (allowed) {
          const revision: number = job === undefined ? 1 : job.revision + 1;
          job = reduceJobSnapshot(job, event as JobProjectionEvent);
          expect(job).toMatchObject({ revision, state: accept ? "queued" : state });
          taken += 1;
        } else {
          expect(() => reduceJobSnapshot(job, event as JobProjectionEvent)).toThrow(TypeError);
          expect(JSON.stringify(job)).toBe(before);
          refused += 1;
        }
      }
    }),
    { numRuns: 500 },
  );
  expect(Math.min(taken, refused)).toBeGreaterThan(300);
});

function objectsIn(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}
