// A worker in a process of its own, to be killed. Each of its jobs goes up to its scenario's point, says so on a line of its own, and waits there
// for ever. Arguments: database URL, folder, and JSON of job id → scenario.
import { createJobsClient, type JobsClient } from "../../../../capability/index.ts";
import type { HostParts } from "../../host-parts.ts";
import { startJobsHost } from "../../testing/job-host-composition.ts";
import { startJobWorker } from "../start-job-worker.ts";
import { openAttemptParts } from "./open-attempt-parts.ts";
import { type Script, testProviders } from "./test-providers.ts";

/** Where a job of the process stops. */
export type Scenario = "execute" | "resumable" | "put" | "seal" | "complete";

const [url = "", directory = "", given = "{}"] = process.argv.slice(2);
const scenarios = new Map(Object.entries(JSON.parse(given) as Record<string, Scenario>));

/** What waits for ever stays reachable: a file handle that were collected with it would end the process before it is killed. */
const held: unknown[] = [];
const reach = (point: string): Promise<never> => {
  process.stdout.write(`${point}\n`);
  return new Promise((resolve) => held.push(resolve));
};

/** By its length a store knows the file that is never to be recorded. */
const fatalLength = 4321;
const fatal = "x".repeat(fatalLength);

const script: Script = async (_, services) => {
  const { workspace, publishArtifact, publishCheckpoint, job } = services;
  const scenario = scenarios.get(job.jobId);
  const publish = async (path: string): Promise<void> => {
    if ((await workspace.stat(path)) === undefined) await workspace.write(path, `first content of ${path}`);
    await publishArtifact({ role: "mesh", path, mediaType: "model/vtk" });
  };
  if (scenario === "resumable") {
    await publish("before.vtk");
    await publishCheckpoint({ paths: ["before.vtk"], metadata: { step: 1 } });
  }
  await publish("first.vtk");
  await workspace.write("fatal.vtk", fatal);
  if (scenario === "put") await publish("fatal.vtk");
  if (scenario === "seal") await publishCheckpoint({ paths: ["fatal.vtk"], metadata: { step: 1 } });
  return scenario === "complete" ? { cells: 1 } : reach(`${scenario ?? "none"} ${job.jobId}`);
};

const host = await startJobsHost(url);
const jobs = createJobsClient(host.handle("app", "jobs"));
const providers = testProviders(
  () => script,
  () => true,
);
const { parts } = openAttemptParts({ url, directory, jobs, providers, onError: console.error });

const records = new Map<string, string>();
const watchedJobs: JobsClient = {
  ...jobs,
  async claim(request) {
    const answer = await jobs.claim(request);
    if (answer.ok) records.set(answer.value.job_id, answer.value.payload["record"] as string);
    return answer;
  },
  complete(request) {
    const record = records.get(request.job_id) ?? "";
    return scenarios.get(record) === "complete" ? reach(`complete ${record}`) : jobs.complete(request);
  },
};
const { artifacts, revisions } = parts;
const watched: HostParts = {
  ...parts,
  jobs: watchedJobs,
  artifacts: {
    ...artifacts,
    async put(content, ...rest) {
      await artifacts.put(content, ...rest);
      if (content.length === fatalLength) await reach("put");
    },
  },
  revisions: {
    ...revisions,
    async seal(seal, ...rest) {
      const revision = await revisions.seal(seal, ...rest);
      return seal.files.some(({ length }) => length === fatalLength) ? reach("seal") : revision;
    },
  },
};
startJobWorker(watched, { concurrency: scenarios.size });
