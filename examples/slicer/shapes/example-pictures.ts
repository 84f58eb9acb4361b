import { buildMesh } from "../mesh/build-mesh.ts";
import { measureMesh } from "../mesh/measure-mesh.ts";
import { drawLayer } from "../slice/draw-layer.ts";
import { sliceMesh } from "../slice/slice-mesh.ts";
import { torus } from "./torus.ts";

/** Two layers of a standing ring, as SVG by file name: just below its hole, and through it. */
export function examplePictures(): Readonly<Record<string, string>> {
  const mesh = buildMesh(torus({ radius: 28, tube: 12, around: 180, across: 72, stands: true }));
  const { bounds } = measureMesh(mesh);
  const pictures: Record<string, string> = {};
  for (const layer of sliceMesh(mesh, { layerHeight: 1 })) {
    if (layer.index === 23) pictures["below-the-hole.svg"] = drawLayer(layer, bounds);
    if (layer.index === 30) pictures["through-the-hole.svg"] = drawLayer(layer, bounds);
  }
  return pictures;
}
