export { describeTaskProviderConformance } from "./describe-provider-conformance.ts";
export type { ProviderConformance, ProviderUnderTest } from "./provider-under-test.ts";
