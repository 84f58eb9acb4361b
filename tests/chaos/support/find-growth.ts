import type { Growth } from "./soak.ts";

/**
 * How much a healthy process may seem to grow in the second half of its life, however long it lives. Measured on a busy machine over five to ten
 * thousand jobs: healthy ones came to at most 265 values, 180 KiB of heap, 5.5 MiB of memory and 0.7 descriptors, and now and then to a
 * thousand values or two less, when the engine drops code; those that leaked, over five thousand jobs, to at least 21 000 values, 22 MiB of
 * heap, 25 MiB of memory and 23 descriptors.
 */
const most = { values: 1000, heapKibibytes: 1024, rssKibibytes: 12_288, descriptors: 5 } as const;

/** What grew more than that, each as a word and a number. */
export function findGrowth(growth: Growth): string[] {
  const names = Object.keys(most) as (keyof typeof most)[];
  return names
    .filter((name) => growth[name] > most[name])
    .map((name) => `${name} grew by ${growth[name]}, at most ${most[name]} is expected`);
}
