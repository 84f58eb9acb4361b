// A worker process that claims one job, says so, and then never does anything again. Run with the database's URL in its
// environment; the test that started it kills it.
import { createJobsClient } from "../../../capability/index.ts";
import { databaseClockExpression } from "../../../host-fixtures/database-clock.ts";
import { startHost } from "../../../host-fixtures/host.ts";
import { secretsFromEnvironment } from "../../../host-fixtures/secrets.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";
import { createJobsPlugin } from "../../../plugin/plugin.ts";
import { configuration } from "./backends.ts";

const [driver] = process.argv.slice(2) as ["bun" | "pg"];
const host = await startHost({
  instances: {
    secrets: { plugin: secretsFromEnvironment({ "jobs/url": "CONTRACT_DATABASE_URL" }) },
    jobs: {
      plugin: createJobsPlugin({ clock: databaseClockExpression, maintenanceIntervalMs: 3_600_000 }),
      configuration: { ...configuration, driver },
    },
    worker: { plugin: testPlugin({ provides: {}, needs: [{ id: "jobs", capability: "lenso.jobs@1" }] }) },
  },
  bindings: [
    { consumer: "jobs", requirement: "secrets", provider: "secrets" },
    { consumer: "worker", requirement: "jobs", provider: "jobs" },
  ],
});
const answer = await createJobsClient(host.handle("worker", "jobs")).claim({ queue: "mail" });
console.log(answer.ok ? "claimed" : "nothing to claim");
setInterval(() => {}, 60_000);
