import { digestOf } from "../../canonical/digest.ts";
import type { JobContent } from "../../ports/job-content.ts";
import type { JobRevisionFile } from "../../ports/job-revision-store.ts";

/** A text as content, with its bytes in two chunks and how often they were asked for. */
export function contentOf(text: string): JobContent & {
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly opened: () => number;
} {
  const bytes = Buffer.from(text);
  let opened = 0;
  return {
    length: bytes.byteLength,
    digest: digestOf(bytes),
    opened: () => opened,
    open: () => {
      opened += 1;
      const half = Math.ceil(bytes.byteLength / 2);
      return chunksOf(bytes.subarray(0, half), bytes.subarray(half));
    },
  };
}

/** Files of a tree, from a text each. */
export function filesOf(tree: Readonly<Record<string, string>>): JobRevisionFile[] {
  return Object.entries(tree).map(([path, text]) => {
    const { length, digest, open } = contentOf(text);
    return { path, length, digest, open };
  });
}

/** A stream of these chunks. */
export async function* chunksOf(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
}

/** All of a stream as a text; throws when there is no stream. */
export async function textOf(stream: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  if (stream === undefined) throw new Error("expected a stream, got undefined");
  return new Response(await Array.fromAsync(stream).then((chunks) => Buffer.concat(chunks))).text();
}
