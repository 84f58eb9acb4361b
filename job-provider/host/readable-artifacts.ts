import { verifyContent } from "../ports/job-content.ts";
import type { JobReadableArtifact } from "../provider/job-artifact.ts";
import type { HostParts } from "./host-parts.ts";
import { JobHostError } from "./job-host-error.ts";
import { listArtifacts } from "./records/list-artifacts.ts";

/** What a job has published, with its bytes for the asking. Frozen. */
export async function readableArtifacts(
  { records, artifacts }: Pick<HostParts, "records" | "artifacts">,
  id: string,
): Promise<readonly JobReadableArtifact[]> {
  const published = await listArtifacts(records, id);
  return Object.freeze(
    published.map((artifact) =>
      Object.freeze({
        ...artifact,
        async *read(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<Uint8Array, void> {
          const { length, digest } = artifact;
          const stream = await artifacts.read({ length, digest }, options);
          if (stream === undefined)
            throw new JobHostError("store-failed", {
              cause: new Error(`the store has no ${digest}: restore it from a copy of the store`),
            });
          yield* verifyContent(stream, { length, digest }); // whatever store it is
        },
      }),
    ),
  );
}
