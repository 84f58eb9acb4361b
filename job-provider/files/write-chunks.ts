import type { FileHandle } from "node:fs/promises";
import { withFileErrors } from "./job-file-error.ts";
import { untilAborted } from "./until-aborted.ts";

/**
 * Writes a stream to an open file, chunk by chunk: the next one is asked for when the last one is written.
 *
 * @param what the beginning of an error's sentence, such as `"a" cannot be written`
 * @throws JobFileError when the file cannot take it; whatever the stream throws passes as it is
 */
export async function writeChunks(
  what: string,
  handle: FileHandle,
  chunks: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<void> {
  for await (const chunk of untilAborted(chunks, signal)) {
    let start = 0;
    while (start < chunk.byteLength) {
      const { bytesWritten } = await withFileErrors(what, () =>
        handle.write(chunk, start, chunk.byteLength - start),
      );
      start += bytesWritten;
    }
  }
}
