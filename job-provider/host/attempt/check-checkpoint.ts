import { refuse } from "../../canonical/pointer-text.ts";
import { type Member, readIdentity, readList, readRecord } from "../../canonical/read-record.ts";
import type { JobRevision } from "../../submission/job-submit-input.ts";
import { readDigest } from "../../submission/read-parts.ts";
import { rootedPathProblem } from "../../tree/rooted-path.ts";
import { readText } from "./read-text.ts";

/** A checkpoint to be published, as far as it is checked without its schema. */
export interface CheckedCheckpoint {
  readonly paths: readonly string[];
  readonly metadata: unknown;
  readonly parent: JobRevision | undefined;
}

/** @throws TypeError naming the field */
export function checkCheckpoint(publication: unknown, newest: JobRevision | undefined): CheckedCheckpoint {
  const member = { value: publication, at: ["checkpoint"] };
  const { paths, metadata, parent } = readRecord(member, ["paths", "metadata"], ["parent"]);
  const follows = parent && readRevision(parent);
  if (!isSameRevision(follows, newest)) {
    const expected = newest === undefined ? "no parent: the job has no checkpoint" : "the newest checkpoint";
    return refuse(["checkpoint", "parent"], `expected ${expected}`);
  }
  return { paths: readPaths(paths), metadata: metadata.value, parent: follows };
}

/** Most files of a checkpoint: as many as an input has. */
const pathCountLimit = 10_000;

function readPaths(member: Member): readonly string[] {
  const seen = new Set<string>();
  for (const each of readList(member, pathCountLimit)) {
    const path = readText(each, 1, 4095);
    if (seen.has(path)) return refuse(each.at, "the same path stands twice");
    const problem = rootedPathProblem(`/${path}`); // it is sealed under this one
    if (problem !== undefined) return refuse(each.at, problem);
    seen.add(path);
  }
  return seen.size > 0 ? [...seen] : refuse(member.at, `expected 1..${pathCountLimit} paths`);
}

function readRevision(member: Member): JobRevision {
  const keys = ["authorityId", "workspaceId", "revisionId", "treeDigest"] as const;
  const { authorityId, workspaceId, revisionId, treeDigest } = readRecord(member, keys);
  return {
    authorityId: readIdentity(authorityId),
    workspaceId: readIdentity(workspaceId),
    revisionId: readIdentity(revisionId),
    treeDigest: readDigest(treeDigest),
  };
}

function isSameRevision(one: JobRevision | undefined, other: JobRevision | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.authorityId === other.authorityId &&
    one.workspaceId === other.workspaceId &&
    one.revisionId === other.revisionId &&
    one.treeDigest === other.treeDigest
  );
}
