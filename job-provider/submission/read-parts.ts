import { isDigest } from "../canonical/digest.ts";
import { refuse } from "../canonical/pointer-text.ts";
import { type Member, readIdentity, readList, readRecord } from "../canonical/read-record.ts";
import { rootedPathProblem } from "../tree/rooted-path.ts";
import type { JobInput, JobProviderIdentity, JobRevision } from "./job-submit-input.ts";

/** Most paths of an input. */
export const PATH_COUNT_LIMIT = 10_000;

/** An owned, frozen identity of a provider. @throws TypeError naming the place */
export function readProviderIdentity(member: Member): JobProviderIdentity {
  const { id, version, manifestDigest } = readRecord(member, ["id", "version", "manifestDigest"]);
  return Object.freeze({
    id: readIdentity(id),
    version: readIdentity(version),
    manifestDigest: readDigest(manifestDigest),
  });
}

/** An owned, deeply frozen input. @throws TypeError naming the place */
export function readJobInput(member: Member): JobInput {
  const { revision, paths } = readRecord(member, ["revision", "paths"]);
  return Object.freeze({ revision: readRevision(revision), paths: readPaths(paths) });
}

/** An owned, frozen revision. @throws TypeError naming the place */
export function readRevision(member: Member): JobRevision {
  const keys = ["authorityId", "workspaceId", "revisionId", "treeDigest"] as const;
  const { authorityId, workspaceId, revisionId, treeDigest } = readRecord(member, keys);
  return Object.freeze({
    authorityId: readIdentity(authorityId),
    workspaceId: readIdentity(workspaceId),
    revisionId: readIdentity(revisionId),
    treeDigest: readDigest(treeDigest),
  });
}

/** A digest in its one form. @throws TypeError naming the place */
export function readDigest({ value, at }: Member): string {
  return isDigest(value) ? value : refuse(at, "expected sha256: and 64 lowercase hexadecimal digits");
}

function readPaths(member: Member): readonly string[] {
  const paths = new Set<string>();
  for (const { value, at } of readList(member, PATH_COUNT_LIMIT)) {
    const problem = rootedPathProblem(value);
    if (problem !== undefined) return refuse(at, problem);
    if (paths.has(value as string)) return refuse(at, "the same path stands twice");
    paths.add(value as string);
  }
  return Object.freeze([...paths]);
}
