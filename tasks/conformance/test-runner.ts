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

/** Longer than any wait of the suite, so that a test says what it waited for in vain instead of running out of time. */
const defaultTimeoutMs = 30_000;

/** `test`, with a time of its own: the runner's default of 5 s is shorter than some claims hold. */
export function testOf({ timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number }): BunTest["test"] {
  const test = (name: string, body: () => Promise<void>): void => runner.test(name, body, timeoutMs);
  const each = (rows: readonly unknown[]) => {
    const ofRows = runner.test.each([...rows]);
    return (name: string, body: (...row: unknown[]) => Promise<void>): void => ofRows(name, body, timeoutMs);
  };
  return Object.assign(test, { each }) as unknown as BunTest["test"];
}
