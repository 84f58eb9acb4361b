export { type CheckReport, check } from "./check.ts";
export { type FenceReport, fence } from "./fence.ts";
export { type PlanReport, plan } from "./plan.ts";
export type { OperatorCommand, OperatorOptions, Refusal, RefusalCode, Report } from "./report.ts";
export { type SetupOptions, type SetupReport, setup } from "./setup.ts";
export { type UpgradeReport, upgrade } from "./upgrade.ts";
