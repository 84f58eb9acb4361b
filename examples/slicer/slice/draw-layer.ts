import type { Bounds } from "../mesh/measure-mesh.ts";
import type { Layer, Point2 } from "./layer.ts";

/** The media type of a drawing. */
export const DRAWING_TYPE = "image/svg+xml";

/**
 * A layer as SVG, in millimetres and true to size, seen from above. All layers of a mesh have the same frame. The same layer always gives the
 * same text.
 *
 * @param bounds of the whole mesh
 */
export function drawLayer({ index, z, outlines, gaps }: Layer, { minimum, maximum }: Bounds): string {
  const width = maximum[0] - minimum[0];
  const height = maximum[1] - minimum[1];
  const margin = Math.max(width, height) / 20 || 1;
  // SVG counts y downwards.
  const frame = [minimum[0] - margin, -maximum[1] - margin, width + 2 * margin, height + 2 * margin];
  const [, , frameWidth = 0, frameHeight = 0] = frame;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${lengthText(frameWidth)}mm" height="${lengthText(frameHeight)}mm"`,
    ` viewBox="${frame.map(lengthText).join(" ")}" data-layer="${index}" data-z="${lengthText(z)}">\n`,
    `<title>Layer ${index}, z = ${lengthText(z)} mm</title>\n`,
    ...outlines.map(
      (outline, number) =>
        `${number === 0 ? `<path class="material" fill="#4a8" d="` : "\n"}${pathText(outline)}Z`,
    ),
    outlines.length > 0 ? `"/>\n` : "",
    ...gaps.map(
      (gap) =>
        `<path class="gap" fill="none" stroke="#d33" stroke-width="2" vector-effect="non-scaling-stroke" d="${pathText(gap)}"/>\n`,
    ),
    "</svg>\n",
  ].join("");
}

/** A length with at most four decimals, and no more than it needs. */
export function lengthText(millimetres: number): string {
  const text = millimetres.toFixed(4).replace(/\.?0+$/, "");
  return text === "-0" ? "0" : text;
}

function pathText(points: readonly Point2[]): string {
  const [first, ...rest] = points.map(([x, y]) => `${lengthText(x)} ${lengthText(-y)}`);
  return `M${first ?? ""}L${rest.join(" ")}`;
}
