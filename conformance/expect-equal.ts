/** A promise of the contract that a provider did not keep. The message holds what was expected and what came, without lease tokens. */
export class ConformanceFailure extends Error {
  override readonly name = "ConformanceFailure";
}

/**
 * Both mean the same JSON, whatever the order of keys. `about` says which of many it was.
 *
 * @throws ConformanceFailure
 */
export function expectEqual(actual: unknown, expected: unknown, about = ""): void {
  const [came, wanted] = [jsonOf(actual), jsonOf(expected)];
  if (came !== wanted)
    throw new ConformanceFailure(
      `${about === "" ? "" : `${about}: `}expected ${shown(wanted)}, got ${shown(came)}`,
    );
}

/** The same for these fields of an object; its others do not matter. @throws ConformanceFailure */
export function expectFields(actual: object, fields: Readonly<Record<string, unknown>>, about = ""): void {
  const chosen = Object.keys(fields).map((key) => [key, (actual as Record<string, unknown>)[key]]);
  expectEqual(Object.fromEntries(chosen), fields, about);
}

/** @throws ConformanceFailure saying what had to hold. */
export function expectThat(holds: boolean, what: string): void {
  if (!holds) throw new ConformanceFailure(`expected ${what}`);
}

/** An optional field is left out or null, which mean the same. @throws ConformanceFailure */
export function expectAbsent(value: unknown, what: string): void {
  if (value !== undefined && value !== null) throw new ConformanceFailure(`expected no ${what}, got one`);
}

/** JSON with its keys in order; prototypes and hidden properties take no part. */
export function jsonOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? typeof value;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join()}]`;
  const entries = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}:${jsonOf(each)}`);
  return `{${entries.sort().join()}}`;
}

function shown(text: string): string {
  const safe = text.replace(/job_lease_[\w-]+/g, "job_lease_…");
  return safe.length > 600 ? `${safe.slice(0, 600)}…` : safe;
}
