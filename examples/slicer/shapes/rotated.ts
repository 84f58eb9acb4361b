import type { Triangles } from "../stl/triangle-buffer.ts";

/** The shape turned about x, y and z, one after the other, by these angles in radians. */
export function rotated(
  { count, corners }: Triangles,
  [aboutX = 0, aboutY = 0, aboutZ = 0]: readonly number[],
): Triangles {
  const turned = corners.slice();
  const turn = (at: number, first: number, second: number, angle: number): void => {
    const [one, other] = [turned[at + first] as number, turned[at + second] as number];
    turned[at + first] = one * Math.cos(angle) - other * Math.sin(angle) + 0;
    turned[at + second] = one * Math.sin(angle) + other * Math.cos(angle) + 0;
  };
  for (let at = 0; at < turned.length; at += 3) {
    turn(at, 1, 2, aboutX);
    turn(at, 2, 0, aboutY);
    turn(at, 0, 1, aboutZ);
  }
  return { count, corners: turned };
}
