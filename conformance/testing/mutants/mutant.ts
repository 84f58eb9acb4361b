import type { Job } from "../../../host-fixtures/memory-job.ts";
import type { JobId } from "../../../plugin/job-id.ts";
import type { JobStore, LeaseProof } from "../../../plugin/store/job-store.ts";
import type { Departure, Model } from "../model-conformance.ts";

/** The model with one promise broken. */
export interface Mutant {
  /** What it does wrong, as a statement. */
  readonly name: string;
  /** The name of the case that has to tell. */
  readonly killer: string;
  readonly departure: Departure;
  /** False where ordinary work fails too. */
  readonly lives?: false;
}

/** A mutant with which no ordinary work is done either. */
export function deadly(mutant: Mutant): Mutant {
  return { ...mutant, lives: false };
}

/** A mutant whose departure is in the verbs of the store. */
export function inStore(name: string, killer: string, store: (model: Model) => Partial<JobStore>): Mutant {
  return { name, killer, departure: { store } };
}

/** The job's record, whatever its random part. */
export function jobOf({ table }: Model, id: JobId): Job | undefined {
  return table.byRow.get(id.row);
}

/** The verbs that take a proof, as the model has them, with another proof. */
export function settlingWith(
  { store }: Model,
  change: (proof: LeaseProof) => LeaseProof,
  verbs: readonly ("renew" | "complete" | "fail")[] = ["renew", "complete", "fail"],
): Partial<JobStore> {
  const all: Pick<JobStore, "renew" | "complete" | "fail"> = {
    renew: (proof, call) => store.renew(change(proof), call),
    complete: (proof, call) => store.complete(change(proof), call),
    fail: (proof, failure, call) => store.fail(change(proof), failure, call),
  };
  return Object.fromEntries(verbs.map((verb) => [verb, all[verb]]));
}

/** The proof with these parts taken from the lease that it should be compared with. */
export function agreeing(
  model: Model,
  proof: LeaseProof,
  parts: readonly ("owner" | "tokenHash")[],
): LeaseProof {
  const place = jobOf(model, proof.id)?.place;
  if (place?.is !== "lease") return proof;
  return { ...proof, ...Object.fromEntries(parts.map((part) => [part, place[part]])) };
}

/** Later than any instant of a case. */
export const farFuture = "9999-01-01T00:00:00.000000Z";

/** Whether the job's lease has expired. */
export function isExpired(job: Job, { clock }: Model): boolean {
  return job.place.is === "lease" && job.place.expiresAt <= clock.instant;
}

/** What a verb does synchronously happens while these leases look as if they lasted. */
export function whileLasting<T>(jobs: readonly Job[], work: () => T): T {
  const before = jobs.map((job) => job.place);
  for (const job of jobs) if (job.place.is === "lease") job.place = { ...job.place, expiresAt: farFuture };
  const lasting = jobs.map((job) => job.place);
  const result = work();
  jobs.forEach((job, index) => {
    const place = before[index];
    if (place && job.place === lasting[index]) job.place = place;
  });
  return result;
}

/** All jobs, in the order of their enqueue. */
export function all({ table }: Model): Job[] {
  return [...table.byRow.values()];
}
