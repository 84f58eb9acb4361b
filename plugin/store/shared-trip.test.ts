import { expect, test } from "bun:test";
import type { Database } from "./database.ts";
import { DatabaseError } from "./drivers/database-error.ts";
import type { LeaseProof } from "./job-store.ts";
import { SharedTrip } from "./shared-trip.ts";

const db = {} as Database; // handed on, never used
const lease = (row: string): LeaseProof => ({
  id: { row, nonce: "00".repeat(10) },
  tokenHash: "00".repeat(32),
  owner: "worker",
});
const completed = (...rows: string[]) => new Map(rows.map((row) => [row, true as const]));

/** A trip, and what was sent without it. */
function givenTrip() {
  const alone: string[][] = [];
  const trip = new SharedTrip(async (_, leases) => {
    const rows = leases.map(({ id }) => id.row);
    alone.push(rows);
    return completed(...rows);
  });
  return { trip, alone };
}

test("what is aboard goes with the first statement of a claim, and only with that", async () => {
  const { trip, alone } = givenTrip();
  const settled = trip.board(db, [lease("1"), lease("2")]);
  const carried: number[] = [];
  const send = async (leases: readonly LeaseProof[]) => {
    carried.push(leases.length);
    return { completed: completed("1") };
  };
  await trip.carry(db, send);
  await trip.carry(db, send);
  trip.leave(db);
  expect(carried).toEqual([2, 0]);
  expect([...(await settled).keys()]).toEqual(["1"]); // what the statement left out is not said to be settled
  expect(alone).toEqual([]);
});

test("a statement that fails fails the claim and what it took along", async () => {
  const { trip, alone } = givenTrip();
  const settled = trip.board(db, [lease("1")]);
  const lost = new Error("the link was lost");
  const failed = await Promise.allSettled([settled, trip.carry(db, () => Promise.reject(lost))]);
  expect(failed.map((each) => each.status === "rejected" && each.reason === lost)).toEqual([true, true]);
  trip.leave(db);
  expect(alone).toEqual([]); // whether it was done is unknown: the callers ask again
});

test("a claim and what it took along are sent again apart when the server refused them together", async () => {
  const { trip, alone } = givenTrip();
  const settled = trip.board(db, [lease("1")]);
  const carried: number[] = [];
  const claimed = await trip.carry(db, async (leases) => {
    carried.push(leases.length);
    if (leases.length > 0) throw new DatabaseError("42P01", "");
    return { completed: completed() };
  });
  expect(claimed.completed.size).toBe(0);
  expect(carried).toEqual([1, 0]);
  expect([...(await settled).keys()]).toEqual(["1"]);
  expect(alone).toEqual([["1"]]);
});

test("a claim that is refused alone too fails, and what it took along does not", async () => {
  const { trip } = givenTrip();
  const settled = trip.board(db, [lease("1")]);
  const refused = new DatabaseError("42P01", "");
  await expect(trip.carry(db, () => Promise.reject(refused))).rejects.toBe(refused);
  expect([...(await settled).keys()]).toEqual(["1"]);
});

test("a statement that a broken link ended is sent by nobody again", async () => {
  const { trip, alone } = givenTrip();
  const settled = trip.board(db, [lease("1")]);
  let sent = 0;
  const failed = await Promise.allSettled([
    settled,
    trip.carry(db, () => {
      sent += 1;
      return Promise.reject(new DatabaseError("EPIPE", ""));
    }),
  ]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect({ sent, alone }).toEqual({ sent: 1, alone: [] });
});

test("what no statement takes along is sent alone, once", async () => {
  const { trip, alone } = givenTrip();
  const settled = trip.board(db, [lease("1")]);
  trip.leave(db);
  trip.leave(db);
  expect([...(await settled).keys()]).toEqual(["1"]);
  const late = await trip.carry(db, async (leases) => ({ completed: completed(), leases: leases.length }));
  expect(late.leases).toBe(0);
  expect(alone).toEqual([["1"]]);
});

test("who comes when the trip has begun, or when it has its load, is sent alone", async () => {
  const { trip, alone } = givenTrip();
  void trip.board(db, [lease("1")]);
  await trip.board(db, [lease("2")]);
  trip.leave(db);
  await trip.board(db, [lease("3")]);
  expect(alone).toEqual([["2"], ["1"], ["3"]]);
});

test("a claim with nothing aboard sends nothing else", async () => {
  const { trip, alone } = givenTrip();
  const answer = await trip.carry(db, async (leases) => ({ completed: completed(), leases: leases.length }));
  trip.leave(db);
  expect([answer.leases, alone]).toEqual([0, []]);
});
