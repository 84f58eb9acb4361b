import { createBinaryReader, HEADER_BYTES } from "./binary-reader.ts";
import { StlError } from "./stl-error.ts";
import { createTextReader } from "./text-reader.ts";
import { createTriangleBuffer, type Triangles } from "./triangle-buffer.ts";

/**
 * Most triangles that may be allowed. It stays below 2^24, so the count of an acceptable binary file has a zero byte, which no text has: that
 * tells the two apart, also when a binary file's header begins with `solid`.
 */
export const TRIANGLE_LIMIT = 2_000_000;

/** How a file is read. */
export interface ReadStlOptions {
  /** Integer 1..2 000 000. Each triangle takes 36 bytes. Default 1 000 000. */
  readonly maxTriangles?: number;
}

/** What a file says. */
export interface StlFile extends Triangles {
  readonly format: "binary" | "text";
}

/** Takes a file piece by piece, cut anywhere. */
export interface StlReader {
  /** @throws StlError */
  readonly push: (chunk: Uint8Array) => void;
  /** @throws StlError for a file that must not end there */
  readonly end: () => void;
}

/**
 * Reads an STL file, binary or text, without holding more of it than a piece and its triangles. Normals are not read: they follow from the
 * order of the corners. A text may have any white space, any case, and several solids.
 *
 * @throws StlError for anything that is not a whole STL file with at least one triangle, and at most the allowed number
 * @throws RangeError for options that break their bounds
 * @example
 * const { count } = await readStl(Bun.file("cube.stl").stream());
 */
export async function readStl(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { maxTriangles = 1_000_000 }: ReadStlOptions = {},
): Promise<StlFile> {
  if (!Number.isInteger(maxTriangles) || maxTriangles < 1 || maxTriangles > TRIANGLE_LIMIT)
    throw new RangeError(`maxTriangles: expected an integer 1..${TRIANGLE_LIMIT}, got ${maxTriangles}`);
  const buffer = createTriangleBuffer();
  const open = (format: StlFile["format"]): StlReader =>
    format === "text" ? createTextReader(buffer, maxTriangles) : createBinaryReader(buffer, maxTriangles);
  let head = new Uint8Array(0);
  let reading: { readonly format: StlFile["format"]; readonly reader: StlReader } | undefined;
  for await (const chunk of chunks) {
    if (reading) {
      reading.reader.push(chunk);
      continue;
    }
    head = joined(head, chunk);
    if (head.length < HEADER_BYTES) continue;
    const format = formatOf(head);
    reading = { format, reader: open(format) };
    reading.reader.push(head);
  }
  if (!reading) {
    const format = formatOf(head);
    reading = { format, reader: open(format) };
    reading.reader.push(head);
  }
  reading.reader.end();
  if (buffer.count === 0) throw new StlError("empty", "the file has no triangle");
  return { ...buffer.triangles(), format: reading.format };
}

function joined(head: Uint8Array<ArrayBuffer>, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(head.length + chunk.length);
  both.set(head);
  both.set(chunk, head.length);
  return both;
}

function formatOf(head: Uint8Array): StlFile["format"] {
  const start = new TextDecoder("latin1").decode(head.subarray(0, HEADER_BYTES));
  return /^[\t-\r ]*solid/i.test(start) && !start.includes("\0") ? "text" : "binary";
}
