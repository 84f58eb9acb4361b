export { createFactorsProvider } from "./create-factors-provider.ts";
