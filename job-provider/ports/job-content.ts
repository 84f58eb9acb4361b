import { createHash } from "node:crypto";

/** Bytes by what they are. */
export interface JobContent {
  /** Bytes, a safe integer from 0. */
  readonly length: number;
  /** `sha256:` and 64 lowercase hexadecimal digits. */
  readonly digest: string;
}

/** Bytes are not what they were said to be. The message tells lengths and digests, no content. */
export class JobContentMismatch extends Error {
  override readonly name = "JobContentMismatch";
}

/**
 * The stream as it is, checked on the way. A stream that is longer ends at the first byte too many; a shorter one, or one with other bytes,
 * at its end. So whoever reads to the end has read the very content.
 *
 * @throws JobContentMismatch
 */
export async function* verifyContent(
  stream: AsyncIterable<Uint8Array>,
  expected: JobContent,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash("sha256");
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.byteLength;
    if (length > expected.length)
      throw new JobContentMismatch(`expected ${expected.length} bytes, got more: read the content again`);
    hash.update(chunk);
    yield chunk;
  }
  if (length !== expected.length)
    throw new JobContentMismatch(`expected ${expected.length} bytes, got ${length}: read the content again`);
  const digest = `sha256:${hash.digest("hex")}`;
  if (digest !== expected.digest)
    throw new JobContentMismatch(`expected ${expected.digest}, got ${digest}: the store holds other bytes`);
}
