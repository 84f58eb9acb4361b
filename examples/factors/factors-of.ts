/**
 * The prime factors of a number in ascending order, by trial division. Awaits `pause` before every million of divisors, so that whoever shares
 * the thread gets a turn, and so that what `pause` throws ends the search.
 *
 * @param value a safe integer from 2
 */
export async function factorsOf(value: number, pause: () => Promise<void>): Promise<readonly number[]> {
  const factors: number[] = [];
  let rest = value;
  let tried = 0;
  for (let divisor = 2; divisor * divisor <= rest; divisor += divisor === 2 ? 1 : 2) {
    if (tried % DIVISORS_A_TURN === 0) await pause();
    tried += 1;
    for (; rest % divisor === 0; rest /= divisor) factors.push(divisor);
  }
  if (rest > 1) factors.push(rest);
  return factors;
}

/** A few milliseconds of work. */
const DIVISORS_A_TURN = 1_000_000;
