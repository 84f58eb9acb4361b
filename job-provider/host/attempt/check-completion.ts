import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../../tasks/worker/backoff.ts";
import type { JobArtifactStore } from "../../ports/job-artifact-store.ts";
import { JobContentMismatch, verifyContent } from "../../ports/job-content.ts";
import type { JobArtifactDeclaration } from "../../provider/job-artifact.ts";
import type { KeptArtifact } from "./records/kept-artifacts.ts";

/** How often a store is asked that gives no answer. */
const maxTries = 5;

/** What keeps a job from being completed: a code, and which role or artifact it is about. */
export interface CompletionProblem {
  readonly code: "ARTIFACT_MISSING" | "ARTIFACT_MISMATCH";
  readonly why: string;
}

/**
 * What keeps a job from being completed, or undefined. Every role has its minimum, and none more than its maximum; and every artifact is in the
 * store, read to its end, with the length and digest that it was published with.
 *
 * @throws whatever a store throws that stays without an answer, and the signal's reason
 */
export async function checkCompletion(
  store: JobArtifactStore,
  declarations: readonly JobArtifactDeclaration[],
  kept: readonly KeptArtifact[],
  signal: AbortSignal,
): Promise<CompletionProblem | undefined> {
  for (const { role, minimum, maximum } of declarations) {
    const count = kept.filter((artifact) => artifact.role === role).length;
    const has = `the role ${JSON.stringify(role)} has ${count} artifacts`;
    if (count < minimum) return { code: "ARTIFACT_MISSING", why: `${has}, its minimum is ${minimum}` };
    if (count > maximum) return { code: "ARTIFACT_MISMATCH", why: `${has}, its maximum is ${maximum}` };
  }
  const contents = new Map(kept.map((artifact) => [`${artifact.length} ${artifact.digest}`, artifact]));
  for (const content of contents.values()) {
    const problem = await tried(signal, () => contentProblem(store, content, signal));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

async function contentProblem(
  store: JobArtifactStore,
  { role, length, digest }: KeptArtifact,
  signal: AbortSignal,
): Promise<CompletionProblem | undefined> {
  const of = `of the role ${JSON.stringify(role)}`;
  try {
    const stream = await store.read({ length, digest }, { signal });
    if (stream === undefined) return { code: "ARTIFACT_MISSING", why: `the store lost an artifact ${of}` };
    for await (const _ of verifyContent(stream, { length, digest })) signal.throwIfAborted();
    return undefined;
  } catch (error) {
    if (error instanceof JobContentMismatch)
      return {
        code: "ARTIFACT_MISMATCH",
        why: `the store has other bytes than were published for an artifact ${of}`,
      };
    throw error;
  }
}

async function tried<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || failures === maxTries) throw error;
    }
    await sleep(backoffMs(failures), undefined, { signal });
  }
}
