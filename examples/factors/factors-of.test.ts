import { expect, test } from "bun:test";
import { factorsOf } from "./factors-of.ts";
import { NUMBER_LIMIT, NumbersRefused, readNumbers } from "./read-numbers.ts";

const never = async (): Promise<void> => undefined;

test("factors are primes in ascending order whose product is the number", async () => {
  for (let number = 2; number <= 2000; number += 1) {
    const factors = await factorsOf(number, never);
    expect(factors.reduce((product, factor) => product * factor)).toBe(number);
    expect(factors).toEqual(factors.toSorted((one, other) => one - other));
    for (const factor of factors)
      for (let divisor = 2; divisor * divisor <= factor; divisor += 1) expect(factor % divisor).not.toBe(0);
  }
});

test("numbers with large factors are taken apart exactly", async () => {
  expect(await factorsOf(9_007_199_254_740_991, never)).toEqual([6361, 69_431, 20_394_401]);
  expect(await factorsOf(1_000_003 * 999_983, never)).toEqual([999_983, 1_000_003]);
  expect(await factorsOf(2 ** 52, never)).toEqual(Array(52).fill(2));
});

test("a search gives others a turn every million of divisors, and ends with what they throw", async () => {
  let turns = 0;
  await factorsOf(999_999_000_001, async () => void (turns += 1));
  expect(turns).toBe(1);
  const prime = 99_999_999_999_973; // its root is just below ten million: five million odd divisors
  await expect(
    factorsOf(prime, async () => {
      turns += 1;
      if (turns === 4) throw new Error("enough");
    }),
  ).rejects.toThrow("enough");
});

test("one number a line is read, and any other text is refused with its line", () => {
  expect(readNumbers("2\r\n\n 97 \n9007199254740991")).toEqual([2, 97, 9_007_199_254_740_991]);
  for (const [text, said] of [
    ["", "no number"],
    ["7\n1", "line 2"],
    ["-7", "line 1"],
    ["7.5", "line 1"],
    ["0x10", "line 1"],
    ["9007199254740992", "line 1"],
    ["7\n".repeat(NUMBER_LIMIT + 1), `line ${NUMBER_LIMIT + 1}`],
  ] as const) {
    expect(() => readNumbers(text)).toThrow(NumbersRefused);
    expect(() => readNumbers(text)).toThrow(said);
  }
});
