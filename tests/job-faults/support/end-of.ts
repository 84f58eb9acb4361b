import type { JobHost } from "../../../job-provider/host/index.ts";
import { digestOf, type JobReference } from "../../../job-provider/index.ts";

/** All that a job leaves: how it ended, its result, and each artifact with the digest of the bytes that can be read. */
export async function endOf(host: JobHost, reference: JobReference): Promise<unknown> {
  const artifacts = [];
  for (const { role, path, mediaType, length, digest, read } of (await host.artifacts(reference)) ?? []) {
    const bytes = Buffer.concat(await Array.fromAsync(read()));
    artifacts.push({ role, path, mediaType, length, digest, came: digestOf(bytes) });
  }
  return { ended: await host.result(reference), artifacts };
}
