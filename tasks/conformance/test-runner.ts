type BunTest = typeof import("bun:test");

const runner: BunTest = await import("bun:test").catch((cause: unknown) => {
  throw new Error(
    "lenso-jobs-plugin/tasks/conformance needs the test runner of Bun: import it in a *.test.ts file and run `bun test`",
    { cause },
  );
});

export const afterEach: BunTest["afterEach"] = runner.afterEach;
export const describe: BunTest["describe"] = runner.describe;
export const expect: BunTest["expect"] = runner.expect;
export const test: BunTest["test"] = runner.test;
