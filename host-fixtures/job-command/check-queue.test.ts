import { beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jobHostFiles, runCommand, testFolder, useDatabase } from "../testing/job-command-world.ts";

const folder = testFolder();
const [, composition = "", ...jobs] = jobHostFiles;
let files = 0;

beforeAll(async () => {
  await useDatabase();
}, 60_000);

/** A command on the small job host whose Jobs Instance is configured otherwise. */
function runWith(configuration: object, command: readonly string[]) {
  files += 1;
  const file = join(folder, `${files}.json`);
  const document = JSON.parse(readFileSync(composition, "utf8"));
  Object.assign(document.instances.jobs.configuration, configuration);
  writeFileSync(file, JSON.stringify(document));
  return runCommand([...command, "--composition", file, ...jobs]);
}

test.each([
  [{ lease_seconds: 40 }, "lease_seconds: expected 6, the leaseSeconds of jobHostOptions, got 40"],
  [{ queues: ["other"] }, 'queues: expected the queue of jobHostOptions, "counts" among them'],
  [{ producer_instances: ["jobs"] }, 'producer_instances: expected the Instance of the job host, "counter"'],
  [{ worker_instances: ["jobs"] }, 'worker_instances: expected the Instance of the job host, "counter"'],
])(
  "check, submit and worker refuse a Jobs Instance that cannot carry the host's jobs: %j",
  async (given, said) => {
    for (const command of [
      ["check"],
      ["worker"],
      ["submit", "--provider", "restart", "--files", folder, "--key", "k"],
    ]) {
      const { exitCode, out, err } = await runWith(given, command);
      expect([exitCode, out]).toEqual([3, ""]);
      expect(err).toStartWith(`config-invalid: the composition: instances.jobs.configuration.${said}`);
    }
  },
);

test("all that does not fit is told at once, and what only reads the records goes on", async () => {
  const given = { lease_seconds: 40, queues: ["other"] };
  const { err } = await runWith(given, ["check"]);
  expect(err).toContain("; instances.jobs.configuration.queues: ");
  expect(await runWith(given, ["list"])).toMatchObject({ exitCode: 0, out: "no jobs\n" });
});
