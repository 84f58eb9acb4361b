import { expect, test } from "bun:test";
import { atMost } from "./at-most.ts";

test("no more than the number run at once, and all run in their order, whatever fails", async () => {
  const run = atMost(2);
  const began: number[] = [];
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<number>());
  const works = ends.map(({ promise }, index) =>
    run(() => {
      began.push(index);
      return promise;
    }),
  );
  const failed = works[1]!.catch((error: unknown) => String(error));
  expect(began).toEqual([0, 1]);
  ends[1]!.reject("down");
  expect(await failed).toBe("down");
  expect(began).toEqual([0, 1, 2]);
  ends[0]!.resolve(0);
  expect(await works[0]).toBe(0);
  expect(began).toEqual([0, 1, 2, 3]);
  ends[2]!.resolve(2);
  ends[3]!.resolve(3);
  expect(await Promise.all(works.slice(2))).toEqual([2, 3]);
});
