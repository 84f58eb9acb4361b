import type { Layer, Point2 } from "./layer.ts";

/** What a drawing tells of its layer. */
export type DrawnLayer = Pick<Layer, "index" | "z" | "outlines" | "gaps">;

/**
 * The layer that `drawLayer` drew: exactly its outlines and gaps.
 *
 * @throws TypeError for a text that is no such drawing
 */
export function readDrawing(svg: string): DrawnLayer {
  const head = /^<svg [^>]*data-layer="(\d+)" data-z="(-?[\d.]+)">/.exec(svg);
  if (!head) throw new TypeError("expected a layer's drawing: no data-layer and data-z at its start");
  const paths = (kind: "material" | "gap"): (readonly Point2[])[] =>
    Array.from(svg.matchAll(new RegExp(`<path class="${kind}"[^>]* d="([^"]*)"`, "g")), ([, data = ""]) =>
      data.split("\n").map(readPath),
    ).flat();
  return { index: Number(head[1]), z: Number(head[2]), outlines: paths("material"), gaps: paths("gap") };
}

function readPath(data: string): readonly Point2[] {
  const numbers = data.replace(/^M|Z$/g, "").split(/[L ]/).map(Number);
  if (numbers.length % 2 !== 0 || numbers.some((number) => !Number.isFinite(number)))
    throw new TypeError("expected a layer's drawing: a path that is no list of points");
  const points: Point2[] = [];
  for (let at = 0; at < numbers.length; at += 2)
    points.push([numbers[at] as number, 0 - (numbers[at + 1] as number)]);
  return points;
}
