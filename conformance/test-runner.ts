type BunTest = typeof import("bun:test");

const loaded: BunTest | { readonly missing: unknown } = await import("bun:test").catch(
  (missing: unknown) => ({ missing }),
);

/** Bun's test runner. @throws Error where there is none, under Node for instance. */
export function bunTest(): Pick<BunTest, "describe" | "test"> {
  if ("test" in loaded) return loaded;
  throw new Error(
    "describeJobsConformance needs the test runner of Bun: call it in a *.test.ts file and run `bun test`, or give runConformanceCase to the runner that you have",
    { cause: loaded.missing },
  );
}
