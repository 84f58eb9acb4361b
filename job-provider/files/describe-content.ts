import { createHash } from "node:crypto";
import type { JobContent } from "../ports/job-content.ts";

/** Length and digest of a stream, in one pass and in constant memory. Throws what the stream throws. */
export async function describeContent(chunks: AsyncIterable<Uint8Array>): Promise<JobContent> {
  const hash = createHash("sha256");
  let length = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    length += chunk.byteLength;
  }
  return { length, digest: `sha256:${hash.digest("hex")}` };
}
