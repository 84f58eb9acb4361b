import { expect, test } from "bun:test";
import { EndOfTurn } from "./end-of-turn.ts";

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what is due runs after every promise of the turn, the first rank before the second", async () => {
  const turn = new EndOfTurn();
  const log: string[] = [];
  turn.run(2, () => log.push("second"));
  turn.run(1, () => log.push("first"));
  for (let hop = 1; hop <= 20; hop += 1) await Promise.resolve();
  log.push("promises");
  await nextTurn();
  expect(log).toEqual(["promises", "first", "second"]);
});

test("what becomes due while the turn ends is of that turn, in its rank", async () => {
  const turn = new EndOfTurn();
  const log: string[] = [];
  turn.run(1, () => {
    log.push("first");
    turn.run(2, () => log.push("second of the first"));
    turn.run(1, () => log.push("first of the first"));
  });
  turn.run(2, () => log.push("second"));
  await nextTurn();
  expect(log).toEqual(["first", "first of the first", "second", "second of the first"]);
});

test("each turn ends anew", async () => {
  const turn = new EndOfTurn();
  const log: number[] = [];
  for (const number of [1, 2, 3]) {
    turn.run(1, () => log.push(number));
    await nextTurn();
    expect(log).toHaveLength(number);
  }
});
