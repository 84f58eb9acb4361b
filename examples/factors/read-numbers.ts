/** Most numbers of one file. */
export const NUMBER_LIMIT = 10_000;

/** A file that does not hold what the provider takes. Its message is for whoever submitted the job. */
export class NumbersRefused extends Error {
  override readonly name = "NumbersRefused";
}

/**
 * The numbers of a text, one a line; empty lines are skipped.
 *
 * @throws NumbersRefused for a line that is no integer 2..9 007 199 254 740 991, and for none or more than {@link NUMBER_LIMIT} numbers
 */
export function readNumbers(text: string): readonly number[] {
  const numbers: number[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    if (numbers.length === NUMBER_LIMIT)
      throw new NumbersRefused(`line ${index + 1} is one number too many: ${NUMBER_LIMIT} are taken`);
    numbers.push(readNumber(line.trim(), index + 1));
  }
  if (numbers.length === 0) throw new NumbersRefused("the file holds no number: write one a line");
  return numbers;
}

function readNumber(digits: string, line: number): number {
  const value = /^[0-9]{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= 2) return value;
  throw new NumbersRefused(`line ${line} is no integer from 2 to ${Number.MAX_SAFE_INTEGER}`);
}
