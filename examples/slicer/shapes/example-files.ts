import { brokenCube, cube, touchingCubes } from "./cube.ts";
import { sphere } from "./sphere.ts";
import { torus } from "./torus.ts";
import { binaryStl, textStl } from "./write-stl.ts";

/** The models to try, by file name: computed from a few lines, so they are nobody's. The same bytes each time. */
export const exampleFiles: Readonly<Record<string, () => string | Uint8Array<ArrayBuffer>>> = {
  "cube.stl": () => textStl(cube(20), "cube"),
  "sphere.stl": () => binaryStl(sphere({ radius: 15, around: 96, up: 48 }), "sphere"),
  // Its header begins like a text, as some programs write it.
  "torus.stl": () =>
    binaryStl(torus({ radius: 28, tube: 12, around: 400, across: 128, stands: true }), "solid torus"),
  "broken.stl": () => textStl(brokenCube(20), "a hole and a flipped triangle"),
  "touching.stl": () => textStl(touchingCubes(10), "two cubes with an edge in common"),
};
