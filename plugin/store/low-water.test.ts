import { expect, test } from "bun:test";
import { beginning, LowWater } from "./low-water.ts";

const early = { nextRun: "2026-01-01 00:00:00.1+00", row: "9" };
const later = { nextRun: "2026-01-01 00:00:00.12+00", row: "3" };
const latest = { nextRun: "2026-01-01 00:00:01+00", row: "1" };

test("a hinted scan raises the mark and never lowers it", () => {
  const water = new LowWater();
  const { from, ticket } = water.start();
  expect(from).toBe(beginning);
  water.raise(later, ticket);
  water.raise(early, ticket);
  expect(water.start().from).toBe(later);
});

test("an answer from before a full scan cannot raise the mark past what the full scan found", () => {
  const water = new LowWater();
  const { ticket } = water.start();
  water.setByFullScan(early, 0);
  water.raise(latest, ticket);
  expect(water.start().from).toBe(early);
});

test("a full scan sets the mark, also downwards, so that late jobs are all served", () => {
  const water = new LowWater();
  water.raise(latest, water.start().ticket);
  water.setByFullScan(early, 0);
  expect(water.start().from).toBe(early);
  water.setByFullScan(undefined, 0);
  expect(water.start().from).toBe(early);
});

test("a job that comes back lowers the mark and voids answers under way", () => {
  const water = new LowWater();
  const { ticket } = water.start();
  water.raise(latest, ticket);
  water.lower(early.nextRun);
  water.raise(latest, ticket);
  expect(water.start().from).toEqual({ nextRun: early.nextRun, row: "0" });
});

test("a full scan is due at the start and not right after one", () => {
  const water = new LowWater();
  expect(water.fullScanDue).toBe(true);
  water.setByFullScan(undefined, 0);
  expect(water.fullScanDue).toBe(false);
});

test("jobs of one run time are told apart by their ids, which are numbers", () => {
  const water = new LowWater();
  const { ticket } = water.start();
  water.raise({ ...early, row: "99" }, ticket);
  water.raise({ ...early, row: "100" }, ticket);
  water.raise({ ...early, row: "20" }, ticket);
  expect(water.start().from).toEqual({ ...early, row: "100" });
  water.lower(early.nextRun);
  expect(water.start().from.row).toBe("0");
});
