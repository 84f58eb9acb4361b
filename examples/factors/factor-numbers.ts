import { setImmediate } from "node:timers/promises";
import type { JobProviderAttemptServices, JobProviderExecuteInput } from "lenso-jobs-plugin/job-provider";
import { factorsOf } from "./factors-of.ts";
import type { FactorsResult, FactorsSettings } from "./factors-schemas.ts";
import { NumbersRefused, readNumbers } from "./read-numbers.ts";

/** What is published: one table. */
export type FactorsRole = "factors";

/** Where the table is. */
export const TABLE_PATH = "factors.csv";

/** Bytes of the largest file: no file of allowed numbers, one a line, is larger. */
const FILE_LIMIT = 1_000_000;

/**
 * One attempt. It keeps nothing on the way: whatever becomes of it, the next one begins at the sealed input and gets the same table, byte for
 * byte.
 */
export async function factorNumbers(
  { input, configuration }: JobProviderExecuteInput<FactorsSettings>,
  services: JobProviderAttemptServices<FactorsRole>,
): Promise<FactorsResult> {
  const { signal, workspace, reportProgress, publishArtifact } = services;
  const numbers = await readInput(input.paths, services);
  const pause = async (): Promise<void> => {
    await setImmediate(); // the worker renews its leases meanwhile
    signal.throwIfAborted();
  };
  const rows: string[] = [];
  let primes = 0;
  for (const [index, number] of numbers.entries()) {
    await reportProgress({ phase: "factor", completed: index, total: numbers.length });
    const factors = await factorsOf(number, pause);
    primes += factors.length === 1 ? 1 : 0;
    rows.push([number, ...factors].join(configuration.separator));
  }
  await workspace.write(TABLE_PATH, `${rows.join("\n")}\n`);
  await publishArtifact({ role: "factors", path: TABLE_PATH, mediaType: "text/csv" });
  return { numbers: numbers.length, primes };
}

async function readInput(
  paths: readonly string[],
  { workspace, writeLog }: Pick<JobProviderAttemptServices, "workspace" | "writeLog">,
): Promise<readonly number[]> {
  try {
    const [path, ...others] = paths;
    if (path === undefined || others.length > 0)
      throw new NumbersRefused(`the job selects ${paths.length} files: expected one`);
    const file = await workspace.stat(path.slice(1));
    if (file === undefined || file.length > FILE_LIMIT)
      throw new NumbersRefused(
        `expected a file of at most ${FILE_LIMIT} bytes, got ${file?.length ?? "none"}`,
      );
    return readNumbers(new TextDecoder().decode(await workspace.read(file.path)));
  } catch (error) {
    // What fails a job is not stored with it; whoever submitted it finds the reason here.
    if (error instanceof NumbersRefused) await writeLog({ level: "error", message: error.message });
    throw error;
  }
}
