import { describeTaskProviderConformance, type ProviderUnderTest } from "../conformance/index.ts";
import { createMemoryTasks } from "./create-memory-tasks.ts";

describeTaskProviderConformance({ name: "memory", open, openWithLongLeases: open });

/** Its claims hold until they are told to lapse. */
async function open(): Promise<ProviderUnderTest> {
  const memory = createMemoryTasks();
  return {
    provider: () => memory.provider(),
    expireLeases: async () => memory.lapseClaims(),
    prune: async () => memory.prune(),
    close: async () => undefined,
  };
}
