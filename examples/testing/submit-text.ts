import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JobProviderDescriptor, JobReference, JsonObject } from "lenso-jobs-plugin/job-provider";
import { sealDirectory } from "lenso-jobs-plugin/job-provider/files";
import type { JobHost } from "lenso-jobs-plugin/job-provider/host";
import type { HostWorld } from "../../job-provider/host/testing/host-world.ts";

/** Seals a text as the one file of an input, and submits it for a provider with these settings. */
export async function submitText(
  world: HostWorld,
  host: JobHost,
  { id, version, manifestDigest }: JobProviderDescriptor,
  { text, settings }: { readonly text: string; readonly settings: JsonObject },
): Promise<JobReference> {
  const directory = await mkdtemp(join(world.directory, "submitted-"));
  await writeFile(join(directory, "input.txt"), text);
  const outcome = await host.submit({
    ...world.submission(),
    provider: { id, version, manifestDigest },
    input: {
      revision: await sealDirectory(world.revisions, { workspaceId: "texts", directory }),
      paths: ["/input.txt"],
    },
    configuration: { value: settings, explicitPointers: Object.keys(settings).map((key) => `/${key}`) },
  });
  if (outcome.status !== "accepted") throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
  return outcome.reference;
}
