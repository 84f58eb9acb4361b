import type { Triangles } from "../stl/triangle-buffer.ts";

/** The text form. */
export function textStl({ count, corners }: Triangles, name: string): string {
  const lines = [`solid ${name}`];
  for (let triangle = 0; triangle < count; triangle += 1) {
    const at = corners.subarray(9 * triangle, 9 * triangle + 9);
    lines.push(`  facet normal ${Array.from(normalOf(at)).join(" ")}`, "    outer loop");
    for (let corner = 0; corner < 9; corner += 3)
      lines.push(`      vertex ${Array.from(at.subarray(corner, corner + 3)).join(" ")}`);
    lines.push("    endloop", "  endfacet");
  }
  return `${[...lines, `endsolid ${name}`].join("\n")}\n`;
}

/** The binary form. @param header at most 80 ASCII characters */
export function binaryStl({ count, corners }: Triangles, header: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(84 + 50 * count);
  bytes.set(new TextEncoder().encode(header).subarray(0, 80));
  const view = new DataView(bytes.buffer);
  view.setUint32(80, count, true);
  for (let triangle = 0; triangle < count; triangle += 1) {
    const at = corners.subarray(9 * triangle, 9 * triangle + 9);
    for (const [field, value] of [...normalOf(at), ...at].entries())
      view.setFloat32(84 + 50 * triangle + 4 * field, value, true);
  }
  return bytes;
}

/** Outwards, of length 1; zero for a triangle without an area. */
function normalOf(corners: Float32Array): Float32Array {
  const [ax = 0, ay = 0, az = 0, bx = 0, by = 0, bz = 0, cx = 0, cy = 0, cz = 0] = corners;
  const normal = [
    (by - ay) * (cz - az) - (bz - az) * (cy - ay),
    (bz - az) * (cx - ax) - (bx - ax) * (cz - az),
    (bx - ax) * (cy - ay) - (by - ay) * (cx - ax),
  ];
  const length = Math.sqrt(normal.reduce((sum, part) => sum + part * part, 0)) || 1;
  return Float32Array.from(normal, (part) => part / length);
}
