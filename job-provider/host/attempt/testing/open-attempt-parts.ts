import { join } from "node:path";
import type { JobsClient } from "../../../../capability/index.ts";
import { databaseClockExpression } from "../../../../host-fixtures/index.ts";
import { createFileArtifactStore } from "../../../files/create-file-artifact-store.ts";
import { createFileRevisionStore } from "../../../files/create-file-revision-store.ts";
import type { JobProviderDescriptor } from "../../../provider/job-provider-descriptor.ts";
import { checkJobHostOptions } from "../../host-options.ts";
import { type OpenHost, openHost } from "../../open-host.ts";
import { leaseSeconds, queueName } from "../../testing/job-host-composition.ts";

/** The parts of a test's host: its records at the URL, on the clock that is installed there, and its stores and workspaces in the folder. */
export function openAttemptParts(given: {
  readonly url: string;
  readonly directory: string;
  readonly jobs: JobsClient;
  readonly providers: readonly JobProviderDescriptor[];
  readonly onError: (error: unknown) => void;
}): OpenHost {
  const { url, directory, ...rest } = given;
  const options = checkJobHostOptions({
    ...rest,
    hostId: "test",
    database: { connectionString: url },
    queue: queueName,
    leaseSeconds,
    revisions: createFileRevisionStore({ directory: join(directory, "revisions"), authorityId: "test" }),
    artifacts: createFileArtifactStore({ directory: join(directory, "artifacts") }),
    workspaceDirectory: join(directory, "workspaces"),
    pollIntervalMs: 50,
    sweepIntervalSeconds: 3600,
  });
  return openHost(options, databaseClockExpression);
}
