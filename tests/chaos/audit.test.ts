import { expect, test } from "bun:test";
import { formatJobId } from "../../plugin/job-id.ts";
import { type Audit, audit, type StoredJob, type StoredMove } from "./support/audit.ts";
import { drawFaults } from "./support/draw-faults.ts";
import type { LedgerEntry } from "./support/ledger.ts";

const nonce = "0102030405060708090a";
const job = formatJobId({ row: "7", nonce });
const [first, second, third] = ["a".repeat(64), "b".repeat(64), "c".repeat(64)] as const;
const call = {
  entry: "calling",
  how: "complete",
  job,
  attempt: 2,
  token: second,
  at: 50,
  until: 90,
  atLeastUntil: 89,
} as const;
const answer = {
  entry: "answered",
  how: "complete",
  job,
  attempt: 2,
  token: second,
  at: 60,
  answer: "ok",
} as const;

/** A job that was asked for twice and once with another payload, lost its first lease, and was completed in its second attempt. */
const entries: readonly LedgerEntry[] = [
  { entry: "asking", key: "k", variant: 0 },
  { entry: "accepted", key: "k", variant: 0, job, created: true },
  { entry: "accepted", key: "k", variant: 0, job, created: false },
  { entry: "asking", key: "k", variant: 1 },
  { entry: "refused", key: "k", variant: 1, code: "idempotency_conflict" },
  { entry: "started", job, attempt: 1, token: first },
  { entry: "calling", how: "complete", job, attempt: 1, token: first, at: 40, until: 30, atLeastUntil: 29 },
  { entry: "answered", how: "complete", job, attempt: 1, token: first, at: 45, answer: "invalid_lease" },
  { entry: "started", job, attempt: 2, token: second },
  call,
  answer,
];
const stored: StoredJob = {
  row: "7",
  nonce,
  key: "k",
  variant: 0,
  places: ["outcome"],
  attempt: 2,
  state: "s",
  operation: "c",
  token: second,
};
const moves: readonly StoredMove[] = [
  { row: "7", place: "ready", generation: "0", token: null, at: 1 },
  { row: "7", place: "lease", generation: "1", token: first, at: 10 },
  { row: "7", place: "ready", generation: "1", token: null, at: 30 },
  { row: "7", place: "lease", generation: "2", token: second, at: 35 },
  { row: "7", place: "outcome", generation: null, token: second, at: 55 },
];

test("a book in order has no finding, and its figures", () => {
  expect(audit(entries, { jobs: [stored], moves })).toEqual({
    lost: [],
    twice: [],
    stale: [],
    wrong: [],
    accepted: 1,
    attempts: 2,
    settled: 1,
    staleRefused: 1,
    conflicts: 1,
  });
});

interface Planted {
  readonly more?: readonly LedgerEntry[];
  readonly jobs?: readonly StoredJob[];
  readonly moves?: readonly StoredMove[];
}

test.each<[string, keyof Audit, Planted]>([
  ["an accepted job that is gone", "lost", { jobs: [] }],
  ["another job under an accepted id", "lost", { jobs: [{ ...stored, nonce: "f".repeat(20) }] }],
  ["a job that never ended", "lost", { jobs: [{ ...stored, places: ["ready"] }] }],
  ["a job in two places", "lost", { jobs: [{ ...stored, places: ["lease", "outcome"] }] }],
  ["a job in no place", "lost", { jobs: [{ ...stored, places: [] }] }],
  [
    "a completion that is not the outcome",
    "lost",
    { jobs: [{ ...stored, token: first, operation: "f", state: "f" }] },
  ],
  [
    "a final failure that is not the outcome",
    "lost",
    { more: [{ ...answer, how: "drop", status: "failed" }] },
  ],
  ["a completion after which it was reaped", "lost", { jobs: [{ ...stored, operation: "r", token: null }] }],
  ["a completion of two attempts", "twice", { more: [{ ...answer, attempt: 1, token: first }] }],
  ["a job that one key made twice", "twice", { jobs: [stored, { ...stored, row: "8" }] }],
  [
    "a key that was told twice that it made a job",
    "twice",
    { more: [{ entry: "accepted", key: "k", variant: 0, job, created: true }] },
  ],
  [
    "an answer with the job of another intent",
    "twice",
    { more: [{ entry: "accepted", key: "k", variant: 1, job, created: false }] },
  ],
  [
    "an attempt that was handed out twice",
    "twice",
    { more: [{ entry: "started", job, attempt: 1, token: third }] },
  ],
  [
    "a token that was handed out twice",
    "twice",
    { more: [{ entry: "started", job, attempt: 3, token: first }] },
  ],
  ["an attempt after the end", "twice", { more: [{ entry: "started", job, attempt: 3, token: third }] }],
  [
    "a lease after the end, whose claim nobody heard of",
    "twice",
    { moves: [...moves, { row: "7", place: "lease", generation: "3", token: third, at: 99 }] },
  ],
  [
    "a generation that came again",
    "twice",
    { moves: moves.map((move) => (move.generation === "2" ? { ...move, generation: "1" } : move)) },
  ],
  [
    "a call that was answered under a lease that had passed",
    "stale",
    { more: [{ ...call, at: 90 }, answer] },
  ],
  [
    "a renewal that was answered under a lease that had passed",
    "stale",
    {
      more: [
        { ...call, how: "renew", at: 91 },
        { ...answer, how: "renew" },
      ],
    },
  ],
  [
    "a completion that was refused and is the outcome",
    "wrong",
    { more: [{ ...answer, at: 500, answer: "invalid_lease" }] },
  ],
  [
    "a failure that was refused and is the outcome",
    "wrong",
    {
      more: [
        { ...call, how: "drop" },
        { ...answer, how: "drop", at: 500, answer: "invalid_lease" },
      ],
      jobs: [{ ...stored, state: "f", operation: "f" }],
    },
  ],
  [
    "a retry that was refused before the job was claimed again",
    "wrong",
    {
      more: [{ ...answer, how: "retry", attempt: 1, token: first, at: 900, answer: "invalid_lease" }],
      moves: moves.map((move) =>
        move.at < 30 ? move : { ...move, token: move.at === 30 ? first : move.token, at: move.at + 1000 },
      ),
    },
  ],
  [
    "a completion that was refused inside of its lease, whatever became of the job",
    "wrong",
    {
      more: [
        { ...call, attempt: 1, token: first, atLeastUntil: 1000 },
        { ...answer, attempt: 1, token: first, at: 900, answer: "invalid_lease" },
      ],
    },
  ],
  [
    "a renewal that was refused inside of its lease",
    "wrong",
    {
      more: [
        { ...call, how: "renew", token: third, atLeastUntil: 1000 },
        { ...answer, how: "renew", token: third, at: 900, answer: "invalid_lease" },
      ],
    },
  ],
  ["a retry that no attempt followed", "wrong", { more: [{ ...answer, how: "retry", status: "queued" }] }],
  [
    "a key that was refused its own intent",
    "wrong",
    { more: [{ entry: "refused", key: "k", variant: 0, code: "idempotency_conflict" }] },
  ],
  [
    "a key that was refused without a job",
    "wrong",
    { more: [{ entry: "refused", key: "free", variant: 0, code: "idempotency_conflict" }] },
  ],
  ["a job that nobody asked for", "wrong", { jobs: [stored, { ...stored, row: "8", key: "other" }] }],
  [
    "an answer that no outage explains",
    "wrong",
    { more: [{ entry: "odd", operation: "fail", answer: "runtime:plugin_failure", detail: "23505" }] },
  ],
  ["a rejection that nobody took", "wrong", { more: [{ entry: "trouble", what: "Error: lost" }] }],
])("an audit finds %s", (_, finding, { more = [], jobs = [stored], moves: made = moves }) => {
  expect(audit([...entries, ...more], { jobs, moves: made })[finding]).not.toEqual([]);
});

test.each<[string, Planted]>([
  [
    "of a completion at its lease's end",
    {
      more: [
        { ...call, attempt: 1, token: first, atLeastUntil: 1000 },
        { ...answer, attempt: 1, token: first, at: 990, answer: "invalid_lease" },
      ],
    },
  ],
  [
    "of a retry that was done, once the job was claimed again",
    {
      more: [{ ...answer, how: "retry", attempt: 1, token: first, at: 900, answer: "invalid_lease" }],
      moves: moves.map((move) => (move.at === 30 ? { ...move, token: first } : move)),
    },
  ],
  [
    "of a retry that was asked for again inside of its lease, once the job was claimed again",
    {
      more: [
        { ...call, how: "retry", attempt: 1, token: first, atLeastUntil: 1000 },
        { ...answer, how: "retry", attempt: 1, token: first, status: "queued" },
        { ...answer, how: "retry", attempt: 1, token: first, at: 900, answer: "invalid_lease" },
      ],
      moves: moves.map((move) => (move.at === 30 ? { ...move, token: first } : move)),
    },
  ],
  [
    "of a failure that a completion under the same lease overtook",
    {
      more: [
        { ...call, how: "drop", atLeastUntil: 1000 },
        { ...answer, how: "drop", at: 900, answer: "invalid_lease" },
      ],
    },
  ],
])("an audit finds nothing wrong in the refusal %s", (_, { more = [], moves: made = moves }) => {
  expect(audit([...entries, ...more], { jobs: [stored], moves: made }).wrong).toEqual([]);
});

test("a seed draws the same faults again, every kind of them, and another seed others", () => {
  const places = { producers: 2, workers: 3 };
  const faults = drawFaults(1, places);
  expect(drawFaults(1, places)).toEqual(faults);
  expect(drawFaults(2, places)).not.toEqual(faults);
  expect(new Set(faults.map(({ fault }) => fault.do)).size).toBe(12);
  for (const { fault } of faults) if ("process" in fault) expect(fault.process).toBeWithin(0, 5);
});
