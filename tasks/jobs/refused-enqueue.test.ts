import { expect, test } from "bun:test";
import { faultyClient } from "./testing/faulty-client.ts";
import { newTask, workAll } from "./testing/given.ts";
import { openTaskWorld } from "./testing/task-world.ts";

test("an Instance that is no producer is refused at enqueue, and nothing is recorded", async () => {
  await using world = await openTaskWorld();
  const refused = { code: "invalid-options", message: expect.stringContaining("unauthorized") };
  const provider = world.provider({ as: "worker" });
  await expect(provider.enqueue(newTask())).rejects.toMatchObject(refused);
  await world.sql.begin(async (transaction) => {
    await expect(provider.enqueue(newTask({ transaction }))).rejects.toMatchObject(refused);
  });
  expect(await world.sql`select id from task`).toHaveLength(0);
});

test("a queue that the Jobs Instance does not have is refused at enqueue, by name, and nothing is recorded", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider({ queue: "taskss" });
  await expect(provider.enqueue(newTask())).rejects.toMatchObject({
    code: "invalid-options",
    message: expect.stringContaining('expected a queue of the Jobs Instance, got "taskss"'),
  });
  expect(await world.sql`select id from task`).toHaveLength(0);
});

test("with a key the refused task stays recorded, and is the one that the key means later", async () => {
  await using world = await openTaskWorld();
  const task = newTask({ deduplicationKey: "order/1" });
  await expect(world.provider({ as: "worker" }).enqueue(task)).rejects.toMatchObject({
    code: "invalid-options",
  });
  const provider = world.provider();
  const jobId = await provider.enqueue(task);
  await world.advance(5); // the sweep leaves a fresh record to whoever recorded it
  await world.sweep();
  expect(await workAll(provider)).toEqual([jobId]);
});

test("a Jobs Instance that is away refuses nothing: what is recorded runs when it is back", async () => {
  await using world = await openTaskWorld();
  const jobs = faultyClient(world.client());
  const provider = world.provider({ jobs });
  jobs.lose("enqueue", "unsent", 100);
  const alone = await provider.enqueue(newTask());
  let joined = "";
  await world.sql.begin(async (transaction) => {
    joined = await provider.enqueue(newTask({ transaction }));
  });
  jobs.heal();
  await world.advance(5);
  await world.sweep();
  expect((await workAll(provider)).toSorted()).toEqual([alone, joined].toSorted());
});
