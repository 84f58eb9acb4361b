import type { StlReader } from "./read-stl.ts";
import { StlError } from "./stl-error.ts";
import type { TriangleBuffer } from "./triangle-buffer.ts";

/** A comment of 80 bytes that nobody has to understand, and the number of triangles. */
export const HEADER_BYTES = 84;
/** A normal, three corners, and two bytes that have no meaning of their own. */
const RECORD_BYTES = 50;

/** Reads binary STL into a buffer: little-endian, one record a triangle. */
export function createBinaryReader(into: TriangleBuffer, maxTriangles: number): StlReader {
  const held = new Uint8Array(HEADER_BYTES);
  let heldLength = 0;
  let announced: number | undefined;

  const takeHeader = (): void => {
    announced = new DataView(held.buffer).getUint32(80, true);
    if (announced > maxTriangles)
      throw new StlError(
        "too_many_triangles",
        `the file announces ${announced} triangles, allowed are ${maxTriangles}: raise the limit, or simplify the mesh`,
      );
  };
  const takeRecord = (view: DataView, at: number): void => {
    if (into.count === announced)
      throw new StlError("surplus", `the file goes on after the ${announced} triangles that it announces`);
    for (let field = 12; field < 48; field += 4) into.append(view.getFloat32(at + field, true));
  };

  return {
    push(chunk) {
      const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let at = 0;
      while (at < chunk.length) {
        const wanted = announced === undefined ? HEADER_BYTES : RECORD_BYTES;
        if (announced !== undefined && heldLength === 0 && chunk.length - at >= RECORD_BYTES) {
          takeRecord(view, at);
          at += RECORD_BYTES;
          continue;
        }
        const piece = chunk.subarray(at, at + wanted - heldLength); // a header or record that is cut somewhere
        held.set(piece, heldLength);
        heldLength += piece.length;
        at += piece.length;
        if (heldLength < wanted) continue;
        heldLength = 0;
        if (announced === undefined) takeHeader();
        else takeRecord(new DataView(held.buffer), 0);
      }
    },
    end() {
      if (announced === undefined)
        throw new StlError("truncated", `the file ends after ${heldLength} of ${HEADER_BYTES} header bytes`);
      if (into.count < announced)
        throw new StlError("truncated", `the file ends after ${into.count} of ${announced} triangles`);
      if (heldLength > 0)
        throw new StlError("surplus", `the file goes on after the ${announced} triangles that it announces`);
    },
  };
}
