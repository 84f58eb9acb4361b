// A process with a job host of its own, to be killed at a point: it says when it is there, and then waits for ever. Started by startHostProcess.
import { join } from "node:path";
import { createJobsClient } from "../../../capability/index.ts";
import { databaseClockExpression } from "../../../host-fixtures/index.ts";
import { createFileArtifactStore } from "../../files/create-file-artifact-store.ts";
import { createFileRevisionStore } from "../../files/create-file-revision-store.ts";
import { createHostWith } from "../create-job-host.ts";
import type { HostProcessOptions } from "./host-process.ts";
import { hostProviders } from "./host-providers.ts";
import { leaseSeconds, queueName, startJobsHost } from "./job-host-composition.ts";

const { url, directory, ...task } = JSON.parse(process.argv[2] as string) as HostProcessOptions;

/** What waits for ever stays reachable: a file handle that were collected with it would end the process before it is killed. */
const held: unknown[] = [];
const arrive = (point: string): Promise<never> => {
  process.stdout.write(`${JSON.stringify({ point })}\n`);
  setInterval(() => undefined, 60_000);
  return new Promise((resolve) => held.push(resolve));
};

const composed = await startJobsHost(url);
const client = createJobsClient(composed.handle("other", "jobs"));
const host = createHostWith(
  { clock: databaseClockExpression },
  {
    hostId: "test",
    database: { connectionString: url },
    jobs: task.submit === undefined ? client : { ...client, enqueue: () => arrive("dispatch") },
    queue: queueName,
    leaseSeconds,
    providers: hostProviders({
      execute: () => arrive("execute"),
      command: () => arrive("command"),
    }),
    revisions: createFileRevisionStore({ directory: join(directory, "revisions"), authorityId: "test" }),
    artifacts: createFileArtifactStore({ directory: join(directory, "artifacts") }),
    workspaceDirectory: join(directory, "workspaces"),
    pollIntervalMs: 50,
    sweepIntervalSeconds: 3600,
  },
);

if (task.submit !== undefined) await host.submit(task.submit);
if (task.work === true) host.startWorker();
await Promise.all(
  (task.commands ?? []).map(({ reference, name, ...request }) => host.command(reference, name, request)),
);
