export { type ConformanceCase, type ConformanceNeed, jobsConformanceCases } from "./all-cases.ts";
export { missingNeeds } from "./conformance-case.ts";
export { describeJobsConformance } from "./describe-jobs-conformance.ts";
export {
  type ConformanceCaller,
  conformanceCallers,
  type HeldLease,
  type JobsConformance,
  type JobsWorld,
  type WorldConfiguration,
} from "./jobs-conformance.ts";
export { runConformanceCase } from "./run-conformance-case.ts";
