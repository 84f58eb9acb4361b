// A host that works, stops and ends by itself: nothing here calls process.exit.

import { createJobsClient } from "../../../capability/index.ts";
import { secretsFromEnvironment, startHost } from "../../../host-fixtures/index.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";
import { jobsPlugin } from "../../../plugin/index.ts";
import { newJob } from "../../postgres/support/jobs.ts";
import { configurationOf, type TestDriver } from "../../postgres/support/jobs-host.ts";

const [driver, mode] = process.argv.slice(2) as [TestDriver, "idle" | "busy" | "unused"];
process.on("unhandledRejection", (reason) => {
  console.log(`UNHANDLED ${String(reason)}`);
  process.exitCode = 3;
});
const module = testPlugin({ needs: [{ id: "jobs", capability: "lenso.jobs@1" }], provides: {} });
const host = await startHost({
  instances: {
    secrets: { plugin: secretsFromEnvironment({ "jobs/database": "CHILD_DATABASE_URL" }) },
    jobs: { plugin: jobsPlugin, configuration: configurationOf({ driver }) },
    producer: { plugin: module },
    worker: { plugin: module },
  },
  bindings: [
    { consumer: "jobs", requirement: "secrets", provider: "secrets" },
    { consumer: "producer", requirement: "jobs", provider: "jobs" },
    { consumer: "worker", requirement: "jobs", provider: "jobs" },
  ],
});
const [producer, worker] = [
  createJobsClient(host.handle("producer", "jobs")),
  createJobsClient(host.handle("worker", "jobs")),
];
if (mode !== "unused") {
  for (let count = 0; count < 5; count += 1) await producer.enqueue(newJob());
  await worker.claim({ queue: "mail" });
}
const busy =
  mode === "busy" ? Array.from({ length: 500 }, () => producer.enqueue(newJob(), { timeoutMs: 60_000 })) : [];
await host.stop();
const answers = await Promise.all(busy);
console.log(`STOPPED ${answers.length}`);
