import { expect, test } from "bun:test";
import { claimOne, failedForGood, newTask, workAll } from "./testing/given.ts";
import { openTaskWorld } from "./testing/task-world.ts";

const day = 86_400;

test("the same key, task and input is the same task, at any time of its life", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const request = newTask({ deduplicationKey: "k", input: { a: 1, b: [2, { c: 3, d: 4 }] } });
  const jobId = await provider.enqueue(request);
  const reordered = { b: [2, { d: 4, c: 3 }], a: 1 };
  expect(await provider.enqueue({ ...request, input: reordered, runAt: new Date() })).toBe(jobId);
  await workAll(provider);
  expect(await provider.enqueue(request)).toBe(jobId);
  expect(await workAll(provider)).toEqual([]);
});

test("the same key with another task or input is a conflict and records nothing", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  await provider.enqueue(newTask({ deduplicationKey: "k", input: { a: 1 } }));
  for (const other of [
    { input: { a: 2 } },
    { input: { a: 1, b: null } },
    { task: "other", input: { a: 1 } },
  ]) {
    await expect(provider.enqueue(newTask({ deduplicationKey: "k", ...other }))).rejects.toMatchObject({
      code: "deduplication-conflict",
    });
  }
  const [{ tasks }] = await world.sql`select count(*)::int as tasks from task`;
  expect(tasks).toBe(1);
});

test("many enqueues of one key at once make one task; those of another input all conflict", async () => {
  await using world = await openTaskWorld();
  const providers = [world.provider(), world.provider({ as: "other" })];
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      providers[index % 2]!.enqueue(
        newTask({ deduplicationKey: "k", input: { a: index % 4 < 2 ? 1 : 2 } }),
      ).catch((error: { code: string }) => error.code),
    ),
  );
  const kinds = new Map<string, number>();
  for (const answer of answers) kinds.set(answer, (kinds.get(answer) ?? 0) + 1);
  expect([...kinds.values()]).toEqual([20, 20]);
  expect(kinds.get("deduplication-conflict")).toBe(20);
  expect(await workAll(world.provider())).toHaveLength(1);
});

test("duplicates that wait for another transaction's key hold up nobody else", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const request = newTask({ deduplicationKey: "k" });
  const committed = Promise.withResolvers<void>();
  const first = Promise.withResolvers<string>();
  const holding = world.sql.begin(async (transaction) => {
    first.resolve(await provider.enqueue({ ...request, transaction }));
    await committed.promise;
  });
  const jobId = await first.promise;
  const duplicates = Array.from({ length: 12 }, () => provider.enqueue(request));
  const other = await provider.enqueue(newTask());
  expect(await provider.get(other)).toMatchObject({ state: "pending" });
  committed.resolve();
  await holding;
  expect(new Set(await Promise.all(duplicates))).toEqual(new Set([jobId]));
});

test("a lost reply is resolved by looking the key up, which writes nothing", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  expect(await provider.lookupDeduplicationKey?.("k")).toBeNull();
  const jobId = await provider.enqueue(newTask({ deduplicationKey: "k" }));
  expect(await provider.lookupDeduplicationKey?.("k")).toMatchObject({ jobId, status: { state: "pending" } });
  const [{ keys }] = await world.sql`select count(*)::int as keys from deduplication_key`;
  expect(keys).toBe(1);
});

test("a finished task is pruned after its retention; its key stays used for ever", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask({ deduplicationKey: "k" }));
  const later = await provider.enqueue(newTask({ runAt: new Date(Date.now() + 1000 * day * 1000) }));
  await workAll(provider);
  await world.sweep({ retentionSeconds: day });
  expect(await provider.get(jobId)).toMatchObject({ state: "succeeded" });
  await world.advance(day + 1);
  await world.sweep({ retentionSeconds: day });
  expect(await provider.get(jobId)).toBeNull();
  expect(await provider.get(later)).toMatchObject({ state: "pending" });
  expect(await provider.lookupDeduplicationKey?.("k")).toEqual({ jobId, status: null });
  for (const input of [newTask().input, "another"]) {
    await expect(provider.enqueue(newTask({ deduplicationKey: "k", input }))).rejects.toMatchObject({
      code: "job-expired",
    });
  }
});

test("the delivery of a pruned task is a no-op", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask());
  await provider.cancel(jobId);
  await world.advance(day + 1);
  await world.sweep({ retentionSeconds: day });
  expect(await provider.get(jobId)).toBeNull();
  expect(await workAll(provider)).toEqual([]);
  expect(await provider.cancel(jobId)).toBe("missing");
});

test("a manual retry reopens a failed task once: same id, input and counters, one more attempt", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask({ maxAttempts: 1 }));
  expect(await provider.retry(jobId)).toBe(false);
  const backend = world.backend();
  const claim = await claimOne(backend);
  await provider.cancel(jobId);
  await backend.settle(claim, failedForGood);
  expect(await provider.retry(jobId)).toBe(false); // cancelled, not failed

  const other = await provider.enqueue(newTask({ maxAttempts: 1, input: { n: 1 } }));
  await backend.settle(await claimOne(backend), failedForGood);
  expect(await provider.get(other)).toMatchObject({ state: "failed", error: "invalid-input", attempt: 1 });
  const retries = await Promise.all([provider.retry(other), provider.retry(other)]);
  expect(retries.filter(Boolean)).toHaveLength(1);
  expect(await provider.get(other)).toMatchObject({
    state: "pending",
    attempt: 1,
    maxAttempts: 2,
    error: null,
  });
  expect(await workAll(provider)).toEqual([other]);
  expect(await provider.get(other)).toMatchObject({ state: "succeeded", attempt: 2 });
});

test("a retry is refused for a pruned task", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const jobId = await provider.enqueue(newTask({ maxAttempts: 1 }));
  const backend = world.backend();
  await backend.settle(await claimOne(backend), failedForGood);
  await world.advance(day + 1);
  await world.sweep({ retentionSeconds: day });
  expect(await provider.retry(jobId)).toBe(false);
});

test("pages go by ascending id over the tasks that were named, each task once", async () => {
  await using world = await openTaskWorld();
  const provider = world.provider();
  const ids: string[] = [];
  for (let n = 0; n < 25; n += 1)
    ids.push(await provider.enqueue(newTask({ task: n % 2 ? "a" : "b", input: n })));
  await provider.enqueue(newTask({ task: "c" }));
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const page = await provider.list!({ tasks: ["a", "b", "a"], limit: 10, ...(after && { after }) });
    for (const job of page.jobs) expect(job).not.toContainKeys(["input", "result", "error"]);
    seen.push(...page.jobs.map(({ jobId }) => jobId));
    after = page.next ?? undefined;
  } while (after !== undefined);
  expect(seen).toEqual(ids.sort());
});

test("the identity lives with the queue: many askers, one answer", async () => {
  await using world = await openTaskWorld();
  const providers = [world.provider(), world.provider({ as: "other" })];
  const answers = await Promise.all([...providers, ...providers].map((provider) => provider.identity?.()));
  expect(new Set(answers.map((answer) => answer?.id)).size).toBe(1);
  expect((await world.provider({ queue: "unused" }).identity?.())?.id).not.toBe(answers[0]!.id);
});

test("queues of one schema do not see each other's tasks", async () => {
  await using world = await openTaskWorld();
  const jobId = await world.provider().enqueue(newTask({ deduplicationKey: "k" }));
  const other = world.provider({ queue: "unused" });
  expect(await other.get(jobId)).toBeNull();
  expect(await other.cancel(jobId)).toBe("missing");
  expect(await other.lookupDeduplicationKey?.("k")).toBeNull();
  expect(await other.enqueue(newTask({ deduplicationKey: "k" }))).not.toBe(jobId);
});
