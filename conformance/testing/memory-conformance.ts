import { createTestClock, type InstantSource, type TestClock } from "../../host-fixtures/clock.ts";
import { startHost } from "../../host-fixtures/host.ts";
import { createMemoryJobs, type MemoryJobs } from "../../host-fixtures/memory-jobs.ts";
import { testPlugin } from "../../host-fixtures/testing/test-plugin.ts";
import {
  conformanceCallers,
  type JobsConformance,
  type JobsWorld,
  type WorldConfiguration,
} from "../jobs-conformance.ts";

interface MemoryWorld extends JobsWorld {
  readonly jobs: MemoryJobs;
  readonly clock: TestClock;
}

/** The published in-memory jobs, by a clock that moves or by the process's own. */
export function memoryConformance(time: "moved" | "waited"): JobsConformance<MemoryWorld> {
  return {
    name: `in-memory jobs, time ${time}`,
    provide: (configuration) => openWorld(time, configuration),
    clock: time === "waited" ? time : ({ clock }) => clock,
    maintain: async ({ jobs }) => jobs.store("jobs").maintain(),
    fence: async ({ jobs }) => jobs.store("jobs").fence(),
  };
}

async function openWorld(time: "moved" | "waited", configuration: WorldConfiguration): Promise<MemoryWorld> {
  const clock: TestClock & InstantSource = createTestClock();
  const jobs = createMemoryJobs(time === "moved" ? { clock } : {});
  const host = await startHost({
    instances: {
      jobs: {
        plugin: jobs,
        configuration: { schema: "jobs", database_url_secret: "unused", ...configuration },
      },
      ...Object.fromEntries(conformanceCallers.map((key) => [key, { plugin: consumer }])),
    },
    bindings: conformanceCallers.map((key) => ({ consumer: key, requirement: "jobs", provider: "jobs" })),
  });
  return {
    jobs,
    clock,
    handle(caller) {
      const handle = host.handle(caller, "jobs");
      if (handle === undefined) throw new Error(`the host has no handle for ${caller}`);
      return handle;
    },
    close: () => host.stop(),
  };
}

const consumer = testPlugin({ provides: {}, needs: [{ id: "jobs", capability: "lenso.jobs@1" }] });
