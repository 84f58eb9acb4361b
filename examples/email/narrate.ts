import type { CallResult } from "lenso-jobs-plugin/capability";

/** Says in plain words what comes next. */
export function say(text: string): void {
  console.log(text);
}

/** Begins a part of the demo. */
export function title(text: string): void {
  console.log(`\n${text}`);
}

/** Prints a claim that was found true; stops the demo when it is not. */
export function check(claim: string, holds: boolean): void {
  if (!holds) throw new DemoFailed(`not so: ${claim}`);
  console.log(`  ok  ${claim}`);
}

/** The value of a call that had to succeed. */
export function must<T>(result: CallResult<T, string>): T {
  if (result.ok) return result.value;
  throw new DemoFailed(`a call was refused: ${String(refusalOf(result))}`);
}

/** The code of a refusal, or undefined when the call succeeded. */
export function refusalOf(result: CallResult<unknown, string>): string | undefined {
  if (result.ok) return undefined;
  if (result.error.kind === "runtime") return result.error.error.kind;
  return typeof result.error.error === "string" ? result.error.error : result.error.error.code;
}

/** Asks again and again until there is an answer, for 30 s at most. What it waits for is a fact, never a length of time. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  for (const endsAt = performance.now() + 30_000; performance.now() < endsAt; await Bun.sleep(50)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
  throw new DemoFailed(`waited 30 s for ${what}`);
}

/** The demo showed something else than it set out to show. */
export class DemoFailed extends Error {
  override readonly name = "DemoFailed";
}
