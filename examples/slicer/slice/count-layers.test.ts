import { expect, test } from "bun:test";
import fc from "fast-check";
import { countLayers, heightOfLayer } from "./count-layers.ts";

test("the last layer is below the top, and one more would not be, also where a division rounds", () => {
  const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
  const top = fc.tuple(number(-1000, 1000), number(0.001, 5), fc.integer({ min: 1, max: 5000 }));
  fc.assert(
    fc.property(top, fc.constantFrom(0, 0.25, 0.5), fc.integer({ min: -2, max: 2 }), (mesh, part, nudge) => {
      const [low, layerHeight, whole] = mesh;
      const exact = heightOfLayer(low, layerHeight, whole - part);
      const high = exact + nudge * Math.abs(exact) * Number.EPSILON;
      const bounds = { minimum: [0, 0, low], maximum: [0, 0, high] } as const;
      const count = countLayers(bounds, layerHeight, 100_000);
      expect(heightOfLayer(low, layerHeight, count - 1)).toBeLessThan(high);
      expect(heightOfLayer(low, layerHeight, count)).toBeGreaterThanOrEqual(high);
    }),
    { numRuns: 2000 },
  );
});

test("a top just above a layer's height, where the division comes out even, has that layer", () => {
  const bounds = { minimum: [0, 0, 99.2], maximum: [0, 0, 6023.495000000001] } as const;
  expect(heightOfLayer(99.2, 2.47, 2398)).toBeLessThan(6023.495000000001);
  expect(countLayers(bounds, 2.47, 100_000)).toBe(2399);
});
