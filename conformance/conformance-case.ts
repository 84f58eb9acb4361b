import type { JobsConformance, JobsWorld, WorldConfiguration } from "./jobs-conformance.ts";
import type { Rig } from "./rig.ts";

/** One promise of the contract, and how to see whether it is kept. */
export interface ConformanceCase {
  /** The part of the contract that it belongs to. */
  readonly rule: string;
  /** A sentence, unique among all cases. */
  readonly name: string;
  /** What the provider must offer to be asked this. Default nothing. */
  readonly needs?: readonly ConformanceNeed[];
  /** What differs from the usual configuration. */
  readonly configuration?: Partial<WorldConfiguration>;
  /** Rejects when the promise is broken. */
  run(rig: Rig): Promise<void>;
}

/** `clock`: a clock that can be moved. The others are the members of that name. */
export type ConformanceNeed = "clock" | "maintain" | "fence" | "holdLease" | "endpoint";

/** What of a case's needs this provider does not offer. */
export function missingNeeds<World extends JobsWorld>(
  { needs = [] }: ConformanceCase,
  conformance: JobsConformance<World>,
): readonly ConformanceNeed[] {
  return needs.filter((need) =>
    need === "clock" ? conformance.clock === "waited" : conformance[need] === undefined,
  );
}
