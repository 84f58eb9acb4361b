/** Edges that a cut visits one after the other, none twice in a path. */
export interface LinkedPaths {
  /** Each returns to its first edge. */
  readonly closed: readonly (readonly number[])[];
  /** Each begins and ends where the surface does, or where it is flipped. */
  readonly open: readonly (readonly number[])[];
}

/** Links the segments of one cut. */
export type SegmentLinker = (starts: readonly number[], ends: readonly number[]) => LinkedPaths;

/**
 * Segment i leads from edge `starts[i]` to edge `ends[i]`. In a closed mesh each edge that is cut is one segment's end and another's start, so
 * there is one way to link. A path that comes to an edge again has closed, and the loop is taken out of it: where parts of a mesh touch, each
 * keeps a path of its own. Every segment is in exactly one path.
 */
export function createSegmentLinker(edgeCount: number): SegmentLinker {
  // For every edge, and between two calls as they are here.
  /** The first segment that starts there and is in no path yet. */
  const first = new Int32Array(edgeCount).fill(-1);
  /** Segments that start there, less those that end there. */
  const surplus = new Int32Array(edgeCount);
  /** Where it stands in the path that is being followed. */
  const place = new Int32Array(edgeCount).fill(-1);

  return (starts, ends) => {
    const next = new Int32Array(starts.length);
    for (let segment = starts.length - 1; segment >= 0; segment -= 1) {
      const [start, end] = [starts[segment] as number, ends[segment] as number];
      next[segment] = first[start] as number;
      first[start] = segment;
      surplus[start] = (surplus[start] as number) + 1;
      surplus[end] = (surplus[end] as number) - 1;
    }
    const closed: number[][] = [];
    const open: number[][] = [];
    const follow = (start: number): void => {
      const path: number[] = [];
      const visit = (edge: number): void => {
        if (place[edge] !== -1) {
          const loop = path.splice(place[edge] as number);
          for (const left of loop) place[left] = -1;
          closed.push(loop);
        }
        place[edge] = path.length;
        path.push(edge);
      };
      visit(start);
      for (let segment = first[start] as number; segment !== -1; ) {
        const end = ends[segment] as number;
        first[starts[segment] as number] = next[segment] as number;
        visit(end);
        segment = first[end] as number;
      }
      for (const edge of path) place[edge] = -1;
      if (path.length > 1) open.push(path);
    };
    // What does not close is followed from where it begins; all that is left then closes.
    for (const edge of starts) if ((surplus[edge] as number) > 0) follow(edge);
    for (const edge of starts) if (first[edge] !== -1) follow(edge);
    for (const edge of [...starts, ...ends]) surplus[edge] = 0;
    return { closed, open };
  };
}
