import { join } from "node:path";
import { createJobsClient } from "../../../capability/index.ts";
import { createFactorsProvider } from "../../../examples/factors/index.ts";
import { createNotifyProvider } from "../../../examples/notify/index.ts";
import { createFolderWorkshop, createSlicerProvider } from "../../../examples/slicer/index.ts";
import { databaseClockExpression } from "../../../host-fixtures/index.ts";
import { createFileArtifactStore, createFileRevisionStore } from "../../../job-provider/files/index.ts";
import { createHostWith } from "../../../job-provider/host/create-job-host.ts";
import type { JobHost } from "../../../job-provider/host/index.ts";
import {
  leaseSeconds,
  queueName,
  startJobsHost,
} from "../../../job-provider/host/testing/job-host-composition.ts";
import type { JobProviderDescriptor, JobRevisionStore } from "../../../job-provider/index.ts";

/** What the hosts of one test have in common, in whatever process they are. */
export interface FaultHostOptions {
  /** The database as this host reaches it. */
  readonly url: string;
  /** With its stores, workspaces and the slicer's workshop. */
  readonly directory: string;
  /** Where notices go. */
  readonly receiver: string;
  readonly onError?: (error: unknown) => void;
}

/** A job host with the examples' providers, one for each way to recover, and a Jobs Instance of its own below it. */
export interface FaultHost extends AsyncDisposable {
  readonly host: JobHost;
  readonly providers: readonly JobProviderDescriptor[];
  readonly revisions: JobRevisionStore;
}

/** Opens one, with further providers if there are any. All hosts of a database read the same clock, which a test moves. */
export async function openFaultHost(
  options: FaultHostOptions,
  further: readonly JobProviderDescriptor[] = [],
): Promise<FaultHost> {
  const { url, directory, receiver, onError } = options;
  const composed = await startJobsHost(url);
  const revisions = createFileRevisionStore({
    directory: join(directory, "revisions"),
    authorityId: "faults",
  });
  const workshop = createFolderWorkshop(join(directory, "workshop"));
  const providers = [
    createFactorsProvider()(),
    createSlicerProvider({ workshop })(),
    createNotifyProvider({ receiver: new URL(receiver) })(),
    ...further,
  ];
  const host = createHostWith(
    { clock: databaseClockExpression },
    {
      hostId: "faults",
      database: { connectionString: url },
      jobs: createJobsClient(composed.handle("app", "jobs")),
      queue: queueName,
      leaseSeconds,
      providers,
      revisions,
      artifacts: createFileArtifactStore({ directory: join(directory, "artifacts") }),
      workspaceDirectory: join(directory, "workspaces"),
      pollIntervalMs: 50,
      sweepIntervalSeconds: 1,
      ...(onError && { onError }),
    },
  );
  return {
    host,
    providers,
    revisions,
    async [Symbol.asyncDispose]() {
      await host.close({ abort: true });
      await composed.stop();
    },
  };
}
