import { heapStats } from "bun:jsc";
import { readdirSync } from "node:fs";

/** What a process holds at one moment, after everything that could be freed was freed. */
export interface SoakSample {
  /** Jobs done so far. */
  readonly jobs: number;
  /** JavaScript values on the heap, without what the engine keeps of the code, which comes and goes with its compilers. */
  readonly values: number;
  /** Bytes of the heap, code included. */
  readonly heap: number;
  /** Bytes of the process that are in memory. */
  readonly rss: number;
  /** Open file descriptors; 0 where there is no /proc. */
  readonly descriptors: number;
}

const ofCode =
  /CodeBlock|Executable|Structure|Scope|Symbol Table|SymbolTable|Module|Cell|PropertyTable|WatchpointSet/;

/** Looks at this process. */
export function takeSample(jobs: number): SoakSample {
  Bun.gc(true);
  const { heapSize, objectTypeCounts } = heapStats();
  const values = Object.entries(objectTypeCounts).filter(([type]) => !ofCode.test(type));
  return {
    jobs,
    values: values.reduce((sum, [, count]) => sum + count, 0),
    heap: heapSize,
    rss: process.memoryUsage.rss(),
    descriptors: process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0,
  };
}
