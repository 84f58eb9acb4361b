import { expect, test } from "bun:test";
import { newTask, workAll } from "./testing/given.ts";
import { openTaskWorld } from "./testing/task-world.ts";

test.each(["same", "separate", "memory"] as const)(
  "a task runs once and its result is kept: jobs %s",
  async (jobs) => {
    await using world = await openTaskWorld({ jobs });
    const provider = world.provider();
    const jobId = await provider.enqueue(newTask());
    expect(await provider.get(jobId)).toEqual({
      jobId,
      task: "greet",
      state: "pending",
      attempt: 0,
      maxAttempts: 3,
      cancelRequested: false,
      result: null,
      error: null,
    });
    expect(await workAll(provider, () => ({ greeting: "Hello Ada" }))).toEqual([jobId]);
    expect(await provider.get(jobId)).toMatchObject({
      state: "succeeded",
      attempt: 1,
      result: { greeting: "Hello Ada" },
    });
    expect(await workAll(provider)).toEqual([]);
    expect(world.told).toEqual([]);
  },
);
