import { expect, test } from "bun:test";
import { databaseClockExpression } from "../../../host-fixtures/index.ts";
import { holdCommand } from "../records/hold-command.ts";
import { killAt } from "../testing/host-process.ts";
import { type HostWorld, openHostWorld } from "../testing/host-world.ts";

const request = { commandId: "refine-1", expectedRevision: 1, value: { by: 2 } };
const policies = ["replay-safe", "reconcile-required", "non-replayable"] as const;

/** Commands that count, and add what they are asked for. */
function counting(world: HostWorld): string[] {
  const calls: string[] = [];
  world.work.command = async ({ commandId, input }) => {
    calls.push(commandId);
    return 40 + (input as { readonly by: number }).by;
  };
  return calls;
}

/** Commands that wait until the test lets them go. */
function held(world: HostWorld): { readonly entered: Promise<void>; release(): void } {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  world.work.command = async () => {
    entered.resolve();
    await release.promise;
    return 1;
  };
  return { entered: entered.promise, release: release.resolve };
}

test("a command runs once under its id, and its result is given to whoever asks with the same value", async () => {
  await using world = await openHostWorld();
  const calls = counting(world);
  const host = world.host();
  const reference = await world.accept(host);
  expect(await host.command(reference, "non-replayable", request)).toEqual({ ok: true, value: 42 });
  expect(await world.host().command(reference, "non-replayable", request)).toEqual({ ok: true, value: 42 });
  await host.cancel(reference);
  expect(await host.command(reference, "non-replayable", request)).toEqual({ ok: true, value: 42 });
  expect(calls).toEqual(["refine-1"]);
});

test("twenty at once under one id run it once, in two processes' hosts", async () => {
  await using world = await openHostWorld();
  const calls = counting(world);
  const hosts = [world.host(), world.host()] as const;
  const reference = await world.accept(hosts[0]);
  const asked = Array.from({ length: 20 }, (_, index) =>
    (hosts[index % 2] ?? hosts[0]).command(reference, "non-replayable", request),
  );
  expect(new Set((await Promise.all(asked)).map((outcome) => JSON.stringify(outcome)))).toEqual(
    new Set([JSON.stringify({ ok: true, value: 42 })]),
  );
  expect(calls).toHaveLength(1);
});

test("every refusal of a command has its code, and runs nothing", async () => {
  await using world = await openHostWorld();
  const calls = counting(world);
  const host = world.host();
  const reference = await world.accept(host);
  const codeOf = async (name: string, changes: object = {}, of = reference): Promise<unknown> => {
    const outcome = await host.command(of, name, { ...request, ...changes });
    return outcome.ok ? outcome.value : outcome.code;
  };
  const nobody = { hostId: "test", jobId: "00000000-0000-7000-8000-000000000000" };
  expect(await codeOf("replay-safe", {}, nobody)).toBe("JOB_NOT_FOUND");
  expect(await codeOf("replay-safe", {}, { ...reference, hostId: "other" })).toBe("JOB_NOT_FOUND");
  expect(await codeOf("about")).toBe("OPERATION_NOT_FOUND");
  expect(await codeOf("replay-safe", { value: { by: "2" } })).toBe("INPUT_INVALID");
  expect(await codeOf("replay-safe", { value: Number.NaN })).toBe("INPUT_INVALID");
  expect(await codeOf("replay-safe", { expectedRevision: 2 })).toBe("REVISION_MISMATCH");
  expect(calls).toEqual([]);
  expect(await codeOf("replay-safe")).toBe(42);
  expect(await codeOf("replay-safe", { value: { by: 3 } })).toBe("COMMAND_CONFLICT");
  expect(await codeOf("non-replayable")).toBe("COMMAND_CONFLICT");
  await host.cancel(reference);
  expect(await codeOf("replay-safe", { commandId: "another", expectedRevision: 2 })).toBe("JOB_TERMINAL");
  expect(calls).toHaveLength(1);
  const without = world.host({ providers: [] });
  expect(await without.command(reference, "replay-safe", { ...request, commandId: "new" })).toMatchObject({
    code: "PROVIDER_NOT_FOUND",
  });
  await expect(host.command(reference, "replay-safe", { ...request, commandId: "" })).rejects.toThrow(
    "/command/commandId",
  );
});

test("a command that throws or answers wrongly has failed for good, and onError alone has its text", async () => {
  await using world = await openHostWorld();
  const canary = ["CANARY", "command"].join("-");
  let calls = 0;
  world.work.command = async ({ commandId }) => {
    calls += 1;
    if (commandId === "throws") throw new Error(canary);
    return canary;
  };
  const host = world.host();
  const reference = await world.accept(host);
  for (const [commandId, code] of [
    ["throws", "PROVIDER_EXECUTION_FAILED"],
    ["wrong", "RESULT_INVALID"],
  ] as const)
    for (let times = 0; times < 2; times += 1)
      expect(await host.command(reference, "replay-safe", { ...request, commandId })).toEqual({
        ok: false,
        code,
      });
  expect(calls).toBe(2);
  const [{ row }] = await world.sql`select string_agg(c::text, ' ') as row from command c`;
  expect(row).not.toContain(canary);
  const during = "command replay-safe";
  expect(world.told).toMatchObject([
    { name: "JobProviderFailure", job: reference, during, cause: { message: canary } },
    { name: "JobProviderFailure", job: reference, during, code: "RESULT_INVALID" },
  ]);
});

test("a runner that was killed is replayed, reconciled or never known again, as the policy says", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const references = new Map(
    await Promise.all(policies.map(async (policy) => [policy, await world.accept(host)] as const)),
  );
  const ask = (policy: (typeof policies)[number]) =>
    host.command(references.get(policy) ?? { hostId: "", jobId: "" }, policy, request);
  const commands = [...references].map(([name, reference]) => ({ ...request, reference, name }));
  await killAt("command", { url: world.url, directory: world.directory, commands });
  const calls = counting(world);
  // As long as its lease lasts, nobody knows that a runner is dead: who asks waits.
  const waiting = ask("replay-safe");
  await world.advance(31);
  expect(await waiting).toEqual({ ok: true, value: 42 });
  const unknown = { ok: false, code: "COMMAND_OUTCOME_UNKNOWN" } as const;
  for (let times = 0; times < 2; times += 1) {
    expect(await ask("reconcile-required")).toEqual(unknown);
    expect(await ask("non-replayable")).toEqual(unknown);
    await world.advance(3600);
  }
  expect(calls).toEqual(["refine-1"]);
  const stories = await Promise.all([...references.values()].map((reference) => world.story(reference)));
  expect(stories).toEqual([["queued"], ["queued", "attention_required COMMAND_OUTCOME_UNKNOWN"], ["queued"]]);
});

test("a job asks for attention by the sweep too, when nobody asks for its dead command", async () => {
  await using world = await openHostWorld();
  const command = held(world);
  const host = world.host();
  const reference = await world.accept(host);
  const asked = host.command(reference, "reconcile-required", request);
  await command.entered;
  await world.advance(31);
  const worker = world.host({ sweepIntervalSeconds: 1 }).startWorker();
  for await (const event of host.watch(reference, { after: 1 }))
    if (event.type === "job-lifecycle-changed" && event.state === "attention_required") break;
  await worker.stop();
  command.release();
  expect(await asked).toEqual({ ok: false, code: "COMMAND_OUTCOME_UNKNOWN" });
  expect((await world.story(reference)).at(-1)).toBe("attention_required COMMAND_OUTCOME_UNKNOWN");
});

test("a runner whose lease is over records nothing, and what took its place counts", async () => {
  await using world = await openHostWorld();
  const slow = held(world);
  const host = world.host();
  const reference = await world.accept(host);
  const late = host.command(reference, "replay-safe", request);
  await slow.entered;
  await world.advance(31);
  counting(world);
  expect(await world.host().command(reference, "replay-safe", request)).toEqual({ ok: true, value: 42 });
  slow.release();
  expect(await late).toEqual({ ok: false, code: "COMMAND_OUTCOME_UNKNOWN" });
  expect(await host.command(reference, "replay-safe", request)).toEqual({ ok: true, value: 42 });
});

test("a pulse prolongs a command's lease, so that a long one is not taken for dead", async () => {
  await using world = await openHostWorld();
  const long = held(world);
  const host = world.host();
  const reference = await world.accept(host);
  const asked = host.command(reference, "non-replayable", request);
  await long.entered;
  const [{ runner }] = await world.sql`select runner::text from command`;
  const session = {
    hostId: "test",
    clock: databaseClockExpression,
    table: (name: string) => `job_host.${name}`,
    query: async (text: string, values: readonly (string | null)[]) => world.sql.unsafe(text, [...values]),
  };
  const run = { job: reference.jobId, commandId: request.commandId, runner: runner as string };
  await world.advance(25);
  expect(await holdCommand(session, run)).toBe(true);
  await world.advance(25);
  expect(await holdCommand(session, { ...run, runner: reference.jobId })).toBe(false);
  long.release();
  expect(await asked).toEqual({ ok: true, value: 1 });
  expect(await holdCommand(session, run)).toBe(false);
});

test("a caller's signal reaches the command, and ends the wait for somebody else's", async () => {
  await using world = await openHostWorld();
  const entered = Promise.withResolvers<void>();
  world.work.command = async ({ signal }) => {
    entered.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return 9;
  };
  const [host, other] = [world.host(), world.host()];
  const reference = await world.accept(host);
  const aborting = new AbortController();
  const asked = host.command(reference, "replay-safe", { ...request, signal: aborting.signal });
  await entered.promise;
  const waiting = new AbortController();
  const wait = other.command(reference, "replay-safe", { ...request, signal: waiting.signal });
  waiting.abort(new Error("not that patient"));
  await expect(wait).rejects.toThrow();
  aborting.abort();
  expect(await asked).toEqual({ ok: true, value: 9 });
});

test("what is recorded of a command is given without its provider, and whoever waits for one needs none", async () => {
  await using world = await openHostWorld();
  counting(world);
  const host = world.host();
  const without = world.host({ providers: [] });
  const reference = await world.accept(host);
  await host.command(reference, "replay-safe", request);
  expect(await without.command(reference, "replay-safe", request)).toEqual({ ok: true, value: 42 });
  const other = { ...request, value: { by: "no number" } };
  expect(await without.command(reference, "replay-safe", other)).toMatchObject({ code: "COMMAND_CONFLICT" });
  const slow = held(world);
  const begun = host.command(reference, "non-replayable", { ...request, commandId: "slow" });
  await slow.entered;
  const waiting = without.command(reference, "non-replayable", { ...request, commandId: "slow" });
  slow.release();
  expect([await begun, await waiting]).toEqual([
    { ok: true, value: 1 },
    { ok: true, value: 1 },
  ]);
});

test("a command that breaks off because it was asked to has an unknown outcome, and its policy says at once what becomes of it", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  let entered = 0;
  const all = Promise.withResolvers<void>();
  world.work.command = async ({ signal }) => {
    entered += 1;
    if (entered === policies.length) all.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    signal.throwIfAborted();
  };
  const asked = await Promise.all(
    policies.map(async (policy) => {
      const reference = await world.accept(host);
      return { policy, reference, outcome: host.command(reference, policy, request) };
    }),
  );
  await all.promise;
  await host.close();
  const unknown = { ok: false, code: "COMMAND_OUTCOME_UNKNOWN" } as const;
  for (const { outcome } of asked) expect(await outcome).toEqual(unknown);
  const calls = counting(world);
  const again = world.host();
  const outcomes = asked.map(({ policy, reference }) => again.command(reference, policy, request));
  expect(await Promise.all(outcomes)).toEqual([{ ok: true, value: 42 }, unknown, unknown]);
  expect(calls).toHaveLength(1);
  const stories = await Promise.all(asked.map(({ reference }) => world.story(reference)));
  expect(stories).toEqual([["queued"], ["queued", "attention_required COMMAND_OUTCOME_UNKNOWN"], ["queued"]]);
});
