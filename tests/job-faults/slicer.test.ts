import { expect, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkJobHost } from "../../job-provider/host/testing/check-job-host.ts";
import type { JobReference } from "../../job-provider/index.ts";
import { startProxy } from "../faults/support/proxy.ts";
import { eventually } from "../task-faults/support/eventually.ts";
import { type StatementGateOptions, statementGate } from "../task-faults/support/statement-gate.ts";
import { endOf } from "./support/end-of.ts";
import type { FaultOrder } from "./support/fault-orders.ts";
import { finishAll } from "./support/finish-all.ts";
import { type FaultWorld, openFaultWorld } from "./support/open-fault-world.ts";
import { lateWrites } from "./support/watch-late-writes.ts";

/** Ten layers, and checkpoints after 3, 6 and 9 of them. */
const ball: FaultOrder = {
  provider: "examples/slicer",
  path: "/ball.stl",
  settings: { layerHeight: 1, checkpointEvery: 3 },
};

/** A process whose statements of one kind are held, so that it dies when it is at one of them. */
async function openVictim(world: FaultWorld, at: Pick<StatementGateOptions, "statement" | "passes">) {
  const gate = statementGate({ ...at, at: "sent", outliveClient: true });
  const proxy = await startProxy(world.url, gate.tapLink);
  return { gate, proxy, process: world.process({ url: proxy.url }) };
}

/** A job whose worker died with five of its ten layers published. Its lease has not passed yet. */
async function givenHalf(world: FaultWorld) {
  const reference = await world.accept(ball);
  const victim = await openVictim(world, { statement: /insert into "job_host"\.artifact/, passes: 5 });
  await victim.process.ask({ do: "work", concurrency: 1 });
  await victim.gate.reached;
  await victim.process.kill();
  return { reference, gate: victim.gate, proxy: victim.proxy };
}

const layerOf = async ({ host }: FaultWorld, reference: JobReference, layer: number): Promise<unknown> => {
  const answer = await host.query(reference, "layer", { value: { layer } });
  return answer.ok ? answer.value : answer.code;
};

test("a slicer that is killed half way goes on at its checkpoint, and every byte is that of a run without a break", async () => {
  await using world = await openFaultWorld();
  const { host } = world;
  const whole = await world.accept(ball);
  await finishAll(world);
  const { reference, gate, proxy } = await givenHalf(world);
  await using _ = proxy;
  expect(await layerOf(world, reference, 4)).toEqual(await layerOf(world, whole, 4));
  expect(await layerOf(world, reference, 5)).toBeNull();

  await finishAll(world);
  await gate.release(); // the sixth drawing of the dead, as a network delivers that is slow
  expect(await world.story(reference)).toEqual([
    "queued",
    "running",
    "waiting ATTEMPT_LOST",
    "queued",
    "running",
    "completed",
  ]);
  const lines = (await host.logs(reference))?.lines.map(({ message }) => message);
  expect(lines).toContain("going on at layer 3 of 10");
  const attempts = await world.sql`
    select path::json #>> '{}' as path, array_agg(split_part(attempt, '.', 2) order by sequence) as of from artifact
    where job = ${reference.jobId} group by 1 order by 1`;
  const once = (path: string, ...of: string[]) => ({ path, of });
  expect([...attempts]).toEqual([
    ...[0, 1, 2].map((layer) => once(`layers/00000${layer}.svg`, "1")),
    ...[3, 4].map((layer) => once(`layers/00000${layer}.svg`, "1", "2")),
    ...[5, 6, 7, 8, 9].map((layer) => once(`layers/00000${layer}.svg`, "2")),
    once("summary.json", "2"),
  ]);
  const end = await endOf(host, reference);
  expect(end).toEqual(await endOf(host, whole));
  expect(end).toMatchObject({ ended: { state: "completed", value: { layers: 10 } } });
  expect(await layerOf(world, reference, 5)).toEqual(await layerOf(world, whole, 5));
  expect(await lateWrites(world.sql)).toEqual([]);
  await checkJobHost(world.sql);
});

test("commands of a slicer whose process died after the effect are repeated, looked at or never known, as each policy says", async () => {
  await using world = await openFaultWorld();
  const { host } = world;
  const whole = await world.accept(ball);
  await finishAll(world);
  const half = await givenHalf(world);
  await using _ = half.proxy;
  const { reference } = half;
  const asked = {
    "note-layer": { commandId: "note", expectedRevision: 2, value: { layer: 1, text: "thin here" } },
    "print-proof": { commandId: "proof", expectedRevision: 2, value: { layer: 2 } },
    announce: { commandId: "news", expectedRevision: 2, value: { text: "half of it is cut" } },
  };
  const effects = async (): Promise<string[]> => {
    const workshop = join(world.directory, "workshop");
    const filesOf = (folder: string) => readdir(join(workshop, folder)).catch(() => []);
    const news = await readFile(join(workshop, "announcements.jsonl"), "utf8").catch(() => "");
    return [
      ...(await filesOf("notes")).map(() => "a note"),
      ...(await filesOf("hot-folder")).map(() => "a proof"),
      ...news
        .trim()
        .split("\n")
        .filter(Boolean)
        .map(() => "news"),
    ];
  };
  const victim = await openVictim(world, { statement: /update "job_host"\.command c set state/ });
  await using __ = victim.proxy;
  const commands = Object.entries(asked).map(([name, request]) => ({ ...request, name, reference }));
  const answers = victim.process.ask({ do: "command", commands });
  answers.catch(() => undefined); // it dies before it has any
  await eventually("the three effects", async () => (await effects()).length === 3);
  await victim.gate.reached;
  await victim.process.kill();
  await world.lapse();

  const ask = (name: keyof typeof asked, changes: object = {}) =>
    host.command(reference, name, { ...asked[name], ...changes });
  const unknown = { ok: false, code: "COMMAND_OUTCOME_UNKNOWN" } as const;
  for (let times = 0; times < 2; times += 1) {
    expect(await ask("note-layer")).toEqual({ ok: true, value: { noteId: "note" } });
    expect(await ask("announce")).toEqual(unknown);
    expect(await ask("print-proof")).toEqual(unknown);
    await victim.gate.release(); // what the dead would have recorded
  }
  expect(await ask("announce", { value: { text: "another text" } })).toMatchObject({
    code: "COMMAND_CONFLICT",
  });
  expect(await effects()).toEqual(["a note", "a proof", "news"]);
  expect(await world.story(reference)).toEqual([
    "queued",
    "running",
    "attention_required COMMAND_OUTCOME_UNKNOWN",
  ]);

  expect(await ask("print-proof", { commandId: "proof 2", expectedRevision: 3 })).toEqual({
    ok: true,
    value: { printed: true },
  });
  const requeued = await host.resolveAttention(reference, { expectedRevision: 3, action: "requeue" });
  expect(requeued).toEqual({ ok: true, revision: 4 });
  await finishAll(world);
  expect(await endOf(host, reference)).toEqual(await endOf(host, whole));
  expect(await ask("note-layer")).toEqual({ ok: true, value: { noteId: "note" } });
  expect(await ask("announce", { commandId: "late news", expectedRevision: 6 })).toMatchObject({
    code: "JOB_TERMINAL",
  });
  expect(await effects()).toEqual(["a note", "a proof", "a proof", "news"]);
  await checkJobHost(world.sql);
});
