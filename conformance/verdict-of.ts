import type { CallResult } from "../capability/index.ts";
import { ConformanceFailure, expectEqual } from "./expect-equal.ts";

type Call<T> = Promise<CallResult<T, string>>;

/** What became of a call, in one phrase: `ok`, the domain code, or `runtime` and the kind of the failure. */
export async function verdictOf(call: Call<unknown>): Promise<string> {
  return wordFor(await call);
}

/** The verdict must be this one. @throws ConformanceFailure */
export async function expectVerdict(call: Call<unknown>, verdict: string, about = ""): Promise<void> {
  expectEqual(await verdictOf(call), verdict, about);
}

/** The value of a call that must succeed. @throws ConformanceFailure */
export async function valueOf<T>(call: Call<T>): Promise<T> {
  const result = await call;
  if (result.ok) return result.value;
  const detail = result.error.kind === "runtime" ? ` (${result.error.error.detail})` : "";
  throw new ConformanceFailure(`expected an answer, got ${wordFor(result)}${detail}`);
}

/** The same of many calls at once. */
export function valuesOf<T>(calls: readonly Call<T>[]): Promise<T[]> {
  return Promise.all(calls.map((call) => valueOf(call)));
}

function wordFor(result: CallResult<unknown, string>): string {
  if (result.ok) return "ok";
  const { kind, error } = result.error;
  if (kind === "runtime") return `runtime ${error.kind}`;
  return typeof error === "string" ? error : `an unknown code ${error.code}`;
}
