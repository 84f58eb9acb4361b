import type { JobFact, JobRequirement } from "./job-requirement.ts";

/** Whether a host can run a provider, and otherwise what is lacking. */
export type JobCapabilityMatch =
  | { readonly ok: true }
  | { readonly ok: false; readonly unmet: readonly JobRequirement[] };

/**
 * Compares requirements with a host's facts. A fact is an own data property, a text, a boolean or a finite number; anything else is as if it
 * were not there, and accessors are not read. Values are equal when they are identical: `"8"` is not `8`.
 *
 * @example
 * matchHostCapabilities([{ key: "memory.gib", condition: "at-least", value: 16 }], { "memory.gib": 32 }); // { ok: true }
 */
export function matchHostCapabilities(
  requirements: readonly JobRequirement[],
  facts: Readonly<Record<string, unknown>>,
): JobCapabilityMatch {
  const unmet = requirements.filter((requirement) => !isMet(requirement, factOf(facts, requirement.key)));
  return Object.freeze(unmet.length === 0 ? { ok: true } : { ok: false, unmet: Object.freeze(unmet) });
}

function isMet(requirement: JobRequirement, fact: JobFact | undefined): boolean {
  if (fact === undefined) return false;
  switch (requirement.condition) {
    case "equals":
      return fact === requirement.value;
    case "one-of":
      return requirement.values.includes(fact);
    case "at-least":
      return typeof fact === "number" && fact >= requirement.value;
  }
}

function factOf(facts: object, key: string): JobFact | undefined {
  const fact: unknown = Object.getOwnPropertyDescriptor(facts, key)?.value;
  if (typeof fact === "number") return Number.isFinite(fact) ? fact : undefined;
  return typeof fact === "string" || typeof fact === "boolean" ? fact : undefined;
}
