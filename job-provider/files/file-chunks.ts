import type { FileHandle } from "node:fs/promises";
import { withFileErrors } from "./job-file-error.ts";

/** Bytes that are read at a time: large enough to hash and copy at full speed, small enough to be no matter in memory. */
const CHUNK_BYTES = 262_144;
/** A small file takes no more than this. */
const LEAST_BYTES = 1_024;

/**
 * The bytes of a file that is opened when the reading starts, and closed when it ends, also early. Each chunk is the reader's own.
 *
 * @param what names the file in an error, such as `the file "a"`
 * @param signal is looked at before each chunk
 * @throws JobFileError
 */
export async function* fileChunks(
  what: string,
  open: () => Promise<FileHandle>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await open();
  try {
    const told = `${what} cannot be read`;
    let left = (await withFileErrors(told, () => handle.stat())).size; // as far as one knows: it may grow
    for (;;) {
      signal?.throwIfAborted();
      const buffer = Buffer.allocUnsafeSlow(Math.min(Math.max(left, LEAST_BYTES), CHUNK_BYTES));
      const { bytesRead } = await withFileErrors(told, () => handle.read(buffer, 0, buffer.byteLength, null));
      if (bytesRead === 0) return;
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
