import { ownJson } from "../canonical/own-json.ts";
import { refuse } from "../canonical/pointer-text.ts";
import { dataOf, refuseProxy } from "../canonical/read-plain.ts";
import { type Member, readIdentity, readRecord } from "../canonical/read-record.ts";
import { readDigest, readJobInput, readProviderIdentity } from "../submission/read-parts.ts";
import type { JobProjectionEvent } from "./job-events.ts";
import { canMoveJob, isJobLifecycleState, type JobLifecycleState } from "./job-lifecycle.ts";
import type { JobEffectiveConfiguration, JobReference, JobSnapshot } from "./job-snapshot.ts";

/**
 * The job after one more event. Pure: neither argument is changed or kept, and the answer is owned and deeply frozen. Folding all stored
 * events of a job from `undefined` on gives its snapshot.
 *
 * @throws TypeError for a gap, a duplicate, another job's event, a second acceptance, a move outside the lifecycle, or an event that is none
 */
export function reduceJobSnapshot(
  snapshot: JobSnapshot | undefined,
  event: JobProjectionEvent,
): Readonly<JobSnapshot> {
  const before = snapshot === undefined ? undefined : ownSnapshot(snapshot);
  const after = typeOf(event) === "job-accepted" ? accept(before, event) : move(before, event);
  made.add(after);
  return after;
}

/** Snapshots that came from here are frozen already, and need no copy. */
const made = new WeakSet<JobSnapshot>();

function accept(before: JobSnapshot | undefined, event: JobProjectionEvent): JobSnapshot {
  const keys = ["type", "revision", "reference", "provider", "input", "configuration"] as const;
  const { revision, ...fields } = readRecord({ value: event, at: [] }, keys);
  if (before !== undefined) return refuse(fields.type.at, "the job is accepted already");
  if (revision.value !== 1) return refuse(revision.at, "the first event has revision 1");
  return Object.freeze({ ...readBinding(fields), revision: 1, state: "queued" });
}

function move(before: JobSnapshot | undefined, event: JobProjectionEvent): JobSnapshot {
  const keys = ["type", "revision", "reference", "state"] as const;
  const { type, revision, reference, state } = readRecord({ value: event, at: [] }, keys);
  if (type.value !== "job-lifecycle-changed") return refuse(type.at, "no such event");
  if (before === undefined) return refuse(type.at, "the first event of a job accepts it");
  const { hostId, jobId } = readReference(reference);
  if (hostId !== before.reference.hostId || jobId !== before.reference.jobId)
    return refuse(reference.at, "the event belongs to another job");
  if (revision.value !== before.revision + 1)
    return refuse(revision.at, `expected revision ${before.revision + 1}, got ${shownRevision(revision)}`);
  const to = readState(state);
  if (!canMoveJob(before.state, to))
    return refuse(state.at, `a job never goes from ${before.state} to ${to}`);
  return Object.freeze({ ...before, revision: before.revision + 1, state: to });
}

function ownSnapshot(snapshot: JobSnapshot): JobSnapshot {
  if (made.has(snapshot)) return snapshot;
  const keys = ["reference", "revision", "provider", "input", "configuration", "state"] as const;
  const { revision, state, ...fields } = readRecord({ value: snapshot, at: ["snapshot"] }, keys);
  if (!Number.isSafeInteger(revision.value) || (revision.value as number) < 1)
    return refuse(revision.at, "expected an integer from 1");
  return Object.freeze({
    ...readBinding(fields),
    revision: revision.value as number,
    state: readState(state),
  });
}

type Binding = Pick<JobSnapshot, "reference" | "provider" | "input" | "configuration">;

/** What a job is bound to from its acceptance on. */
function readBinding(fields: Readonly<Record<keyof Binding, Member>>): Binding {
  return {
    reference: readReference(fields.reference),
    provider: readProviderIdentity(fields.provider),
    input: readJobInput(fields.input),
    configuration: readEffective(fields.configuration),
  };
}

function readReference(member: Member): JobReference {
  const { hostId, jobId } = readRecord(member, ["hostId", "jobId"]);
  return Object.freeze({ hostId: readIdentity(hostId), jobId: readIdentity(jobId) });
}

function readEffective(member: Member): JobEffectiveConfiguration {
  const keys = ["value", "digest", "providerManifestDigest"] as const;
  const { value, digest, providerManifestDigest } = readRecord(member, keys);
  return Object.freeze({
    value: ownJson(value.value, {}, value.at),
    digest: readDigest(digest),
    providerManifestDigest: readDigest(providerManifestDigest),
  });
}

function readState({ value, at }: Member): JobLifecycleState {
  return isJobLifecycleState(value) ? value : refuse(at, "no state of a job");
}

function typeOf(event: unknown): unknown {
  refuseProxy(event, () => []);
  if (typeof event !== "object" || event === null || Array.isArray(event))
    return refuse([], "expected an event");
  return dataOf(event, "type", () => ["type"]);
}

function shownRevision({ value }: Member): string {
  return typeof value === "number" ? String(value) : "no number";
}
