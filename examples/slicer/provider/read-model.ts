import { createHash } from "node:crypto";
import type { JobAttemptServices, JobInput } from "lenso-jobs-plugin/job-provider";
import { readStl, type StlFile } from "../stl/read-stl.ts";
import { ModelRefused } from "./model-refused.ts";
import type { SlicerSettings } from "./slicer-settings.ts";

/** A model's triangles, and what identifies its file. */
export interface Model extends StlFile {
  /** `sha256:` and 64 hexadecimal digits, of the file. */
  readonly digest: string;
}

/**
 * Reads the one model that a job selects, piece by piece.
 *
 * @throws ModelRefused for another number of files, another kind, or one that is too large; StlError
 */
export async function readModel(
  input: JobInput,
  { limits }: Pick<SlicerSettings, "limits">,
  services: Pick<JobAttemptServices, "workspace" | "signal" | "reportProgress">,
): Promise<Model> {
  const { workspace } = services;
  const [selected, ...others] = input.paths;
  if (selected === undefined || others.length > 0 || !/\.stl$/i.test(selected))
    throw new ModelRefused(
      `the job selects ${input.paths.length} files: expected one, whose name ends in .stl`,
    );
  const path = selected.slice(1);
  const file = await workspace.stat(path);
  if (file === undefined)
    throw new ModelRefused("the selected model is not in the workspace: submit it again");
  if (file.length > limits.maxFileBytes)
    throw new ModelRefused(
      `the file has ${file.length} bytes, allowed are ${limits.maxFileBytes}: raise limits.maxFileBytes, or write it as binary STL`,
    );
  const hash = createHash("sha256");
  const triangles = await readStl(watched(workspace.stream(path), file.length, hash, services), limits);
  return { ...triangles, digest: `sha256:${hash.digest("hex")}` };
}

/** The pieces as they are, hashed and counted on the way. */
async function* watched(
  chunks: AsyncIterable<Uint8Array>,
  total: number,
  hash: { update(chunk: Uint8Array): unknown },
  { signal, reportProgress }: Pick<JobAttemptServices, "signal" | "reportProgress">,
): AsyncGenerator<Uint8Array> {
  let completed = 0;
  let reported = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    hash.update(chunk);
    yield chunk;
    completed = Math.min(total, completed + chunk.length);
    if (completed < total && completed - reported < REPORT_BYTES) continue;
    reported = completed;
    await reportProgress({ phase: "read", completed, total });
  }
}

/** Bytes between two reports. */
const REPORT_BYTES = 4 * 2 ** 20;
