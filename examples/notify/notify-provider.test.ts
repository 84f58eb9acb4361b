import { expect, test } from "bun:test";
import type { JobReference } from "lenso-jobs-plugin/job-provider";
import type { JobHost } from "lenso-jobs-plugin/job-provider/host";
import { type HostWorld, openHostWorld } from "../../job-provider/host/testing/host-world.ts";
import { submitText } from "../testing/submit-text.ts";
import { createNotifyProvider } from "./index.ts";
import { type Manner, type Receiver, startReceiver } from "./testing/start-receiver.ts";

/** A host with the provider, and a receiver that answers in that manner. */
async function setup(world: HostWorld, manner: Manner, isOpen = true) {
  const receiver = await startReceiver();
  Object.assign(receiver, { manner, isOpen });
  const provider = createNotifyProvider({ receiver: receiver.url })();
  const host = world.host({ providers: [provider] });
  const send = (settings = {}): Promise<JobReference> =>
    submitText(world, host, provider, {
      text: "Layer by layer.",
      settings: { subject: "it is done", ...settings },
    });
  return { receiver, host, send, provider, [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose]() };
}

/** What a job's notice has come to: result, log, and what the receiver took. */
async function endOf(host: JobHost, reference: JobReference, receiver: Receiver) {
  host.startWorker();
  await Array.fromAsync(host.watch(reference));
  const lines = (await host.logs(reference))?.lines ?? [];
  return {
    result: await host.result(reference),
    log: lines.map(({ level, message }) => `${level} ${message.replace(reference.jobId, "JOB")}`),
    taken: receiver.notices.length,
  };
}

const delivered = { state: "completed", value: { receipt: "receipt-1" } } as const;
/** The host's own line beside the provider's. */
const thrown = "error PROVIDER_EXECUTION_FAILED: the provider threw: NoticeNotDelivered";
const failed = { state: "failed", code: "PROVIDER_EXECUTION_FAILED" } as const;

test("a notice that is answered completes its job with the receipt", async () => {
  await using world = await openHostWorld();
  await using scene = await setup(world, "answers");
  const { receiver, host, send } = scene;
  const reference = await send();
  expect(await endOf(host, reference, receiver)).toEqual({ result: delivered, log: [], taken: 1 });
  expect(receiver.notices).toEqual([
    {
      reference: reference.jobId,
      attempt: "1.1",
      subject: "it is done",
      text: "Layer by layer.",
      receipt: "receipt-1",
    },
  ]);
});

test.each([
  ["drops", "the connection failed"],
  ["hangs", "no answer came within 1000 ms"],
  ["fails", "the receiver answered 500"],
] as const)(
  "a receiver that takes the notice and %s is asked for it, and is sent it once",
  async (manner, why) => {
    await using world = await openHostWorld();
    await using scene = await setup(world, manner);
    const reference = await scene.send(manner === "hangs" ? { timeoutMs: 1000 } : {});
    expect(await endOf(scene.host, reference, scene.receiver)).toEqual({
      result: delivered,
      log: [`warn ${why}: looking whether the notice is there`],
      taken: 1,
    });
  },
);

test.each([
  ["drops", false, 1],
  ["hangs", false, 1],
  ["fails", false, 1],
  ["ignores", true, 0],
] as const)(
  "a receiver that %s and does not tell (open: %p) leaves a job that never completes, and a log that says so",
  async (manner, isOpen, taken) => {
    await using world = await openHostWorld();
    await using scene = await setup(world, manner, isOpen);
    const reference = await scene.send(manner === "hangs" ? { timeoutMs: 1000 } : {});
    const status = isOpen ? 404 : 503;
    expect(await endOf(scene.host, reference, scene.receiver)).toEqual({
      result: failed,
      log: [
        expect.stringMatching(/^warn .*: looking whether the notice is there$/),
        `error delivered or not, nobody knows: the receiver answered ${status} when it was asked for the notice. Look there for JOB before sending it again`,
        thrown,
      ],
      taken,
    });
  },
);

test("a receiver that refuses a notice fails its job, and nobody has to look", async () => {
  await using world = await openHostWorld();
  await using scene = await setup(world, "refuses");
  expect(await endOf(scene.host, await scene.send(), scene.receiver)).toEqual({
    result: failed,
    log: ["error not delivered: the receiver answered 422", thrown],
    taken: 0,
  });
});

/** A job whose worker was stopped between the post and its answer. */
async function givenStopped(world: HostWorld, { receiver, host, send }: Awaited<ReturnType<typeof setup>>) {
  const posted = receiver.posted();
  const reference = await send();
  const worker = host.startWorker();
  await posted;
  await worker.stop({ abort: true });
  expect(await world.story(reference)).toEqual(["queued", "running", "attention_required ATTEMPT_LOST"]);
  const notice = await host.query(reference, "notice", { value: {} });
  return { reference, notice };
}

test("a stop before the answer leaves the job to a person, who completes it with the receipt of what is there", async () => {
  await using world = await openHostWorld();
  await using scene = await setup(world, "hangs");
  const { receiver, host } = scene;
  const { reference, notice } = await givenStopped(world, scene);
  const receipt = "receipt-1";
  expect(notice).toEqual({ ok: true, value: { receipt } });
  const decision = { expectedRevision: 3, action: "complete", result: { receipt } } as const;
  expect(await host.resolveAttention(reference, decision)).toEqual({ ok: true, revision: 4 });
  expect(await host.result(reference)).toEqual(delivered);
  expect(receiver.notices).toHaveLength(1);
});

test("a stop before the answer leaves the job to a person, who sends again what is not there", async () => {
  await using world = await openHostWorld();
  await using scene = await setup(world, "stalls");
  const { receiver, host } = scene;
  const { reference, notice } = await givenStopped(world, scene);
  expect(notice).toEqual({ ok: true, value: { receipt: null } });
  receiver.manner = "answers";
  const decision = { expectedRevision: 3, action: "requeue" } as const;
  expect(await host.resolveAttention(reference, decision)).toEqual({ ok: true, revision: 4 });
  expect(await endOf(host, reference, receiver)).toEqual({ result: delivered, log: [], taken: 1 });
});
