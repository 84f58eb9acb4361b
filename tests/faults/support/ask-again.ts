import { problem } from "../../postgres/support/jobs.ts";
import { eventually } from "../../task-faults/support/eventually.ts";

/** Asks until there is an answer, as a caller does. */
export async function askAgain<T extends Parameters<typeof problem>[0]>(call: () => Promise<T>): Promise<T> {
  let result = await call();
  await eventually("an answer", async () => {
    if (problem(result).startsWith("runtime:")) result = await call();
    return !problem(result).startsWith("runtime:");
  });
  return result;
}
