import { expect, test } from "bun:test";
import type { JobReference } from "lenso-jobs-plugin/job-provider";
import type { JobHost } from "lenso-jobs-plugin/job-provider/host";
import { textOf } from "../../job-provider/host/testing/host-providers.ts";
import { openHostWorld } from "../../job-provider/host/testing/host-world.ts";
import { eventually } from "../../tests/task-faults/support/eventually.ts";
import { submitText } from "../testing/submit-text.ts";
import { createFactorsProvider } from "./index.ts";

const provider = createFactorsProvider()();

const untilOver = (host: JobHost, reference: JobReference): Promise<unknown> =>
  Array.fromAsync(host.watch(reference));

test("a job publishes the factors of each number as a table, and says how many were primes", async () => {
  await using world = await openHostWorld();
  const host = world.host({ providers: [provider] });
  const reference = await submitText(world, host, provider, {
    text: "2\n12\n97\n360360\n",
    settings: { separator: ";" },
  });
  host.startWorker();
  await untilOver(host, reference);
  expect(await host.result(reference)).toEqual({ state: "completed", value: { numbers: 4, primes: 2 } });
  const artifacts = (await host.artifacts(reference)) ?? [];
  expect(artifacts).toMatchObject([{ role: "factors", path: "factors.csv", mediaType: "text/csv" }]);
  const [text] = await Promise.all(artifacts.map(({ read }) => textOf(read())));
  expect(text).toBe("2;2\n12;2;2;3\n97;97\n360360;2;2;2;3;3;5;7;11;13\n");
});

test("a file that holds something else fails the job, and its log says where", async () => {
  await using world = await openHostWorld();
  const host = world.host({ providers: [provider] });
  const reference = await submitText(world, host, provider, { text: "12\ntwelve\n", settings: {} });
  host.startWorker();
  await untilOver(host, reference);
  expect(await host.result(reference)).toEqual({ state: "failed", code: "PROVIDER_EXECUTION_FAILED" });
  expect((await host.logs(reference))?.lines).toMatchObject([
    { level: "error", message: `line 2 is no integer from 2 to ${Number.MAX_SAFE_INTEGER}` },
    { level: "error", message: "PROVIDER_EXECUTION_FAILED: the provider threw: NumbersRefused" },
  ]);
});

test("an attempt that is stopped in a long search costs nothing, and the job waits for the next one", async () => {
  await using world = await openHostWorld();
  const host = world.host({ providers: [provider] });
  const text = "99999999999973\n".repeat(400);
  const reference = await submitText(world, host, provider, { text, settings: {} });
  const worker = host.startWorker();
  await eventually("its progress", async () => (await host.progress(reference)) !== null);
  await worker.stop({ abort: true });
  expect(await world.row(reference)).toMatchObject({ attempts: 0, dispatch: 2, state: "queued" });
  expect(await world.story(reference)).toEqual(["queued", "running", "waiting", "queued"]);
});
