import type { Failure, FailVerdict, LeaseProof } from "../../../plugin/store/job-store.ts";
import type { Model } from "../model-conformance.ts";
import { inStore, isExpired, jobOf, type Mutant } from "./mutant.ts";

const yearLater = "the reply of a settlement is there a year later too, whatever else its worker has settled";
const spent = "a retryable fail has no answer any more once the job is claimed again, whatever comes of that";

/** Whether the job was settled longer ago than that. */
function isSettledSince(model: Model, { id }: LeaseProof, minutes: number): boolean {
  const job = jobOf(model, id);
  if (!job || job.place.is === "lease") return false;
  return Date.parse(model.clock.instant) - Date.parse(job.updatedAt) > minutes * 60_000;
}

/** A mutant that remembers the answer of every fail, and gives it again where it has none and this holds. */
function remembering(name: string, isGiven: (model: Model, proof: LeaseProof) => boolean): Mutant {
  return inStore(name, spent, (model) => {
    const answers = new Map<string, FailVerdict>();
    const callOf = ({ tokenHash, owner }: LeaseProof, { code, retryable }: Failure): string =>
      [tokenHash, owner, code, retryable].join(" ");
    return {
      async fail(proof, failure, call) {
        const answer = await model.store.fail(proof, failure, call);
        if (answer) answers.set(callOf(proof, failure), answer);
        return answer ?? (isGiven(model, proof) ? answers.get(callOf(proof, failure)) : undefined);
      },
    };
  });
}

/** Replies that are forgotten, or given for what is over. */
export const replyMutants: readonly Mutant[] = [
  inStore("complete is forgotten after a day", yearLater, (model) => ({
    complete: async (proof, call) =>
      !isSettledSince(model, proof, 24 * 60) && model.store.complete(proof, call),
  })),
  inStore("fail is forgotten after ten minutes", yearLater, (model) => ({
    fail: async (proof, failure, call) =>
      isSettledSince(model, proof, 10) ? undefined : model.store.fail(proof, failure, call),
  })),
  inStore("a reply is forgotten with the next settlement of its worker", yearLater, (model) => {
    const last = new Map<string, string>();
    const isForgotten = ({ id, owner, tokenHash }: LeaseProof): boolean =>
      jobOf(model, id)?.place.is !== "lease" && last.get(owner) !== tokenHash;
    return {
      async complete(proof, call) {
        if (isForgotten(proof)) return false;
        last.set(proof.owner, proof.tokenHash);
        return model.store.complete(proof, call);
      },
      async fail(proof, failure, call) {
        if (isForgotten(proof)) return undefined;
        last.set(proof.owner, proof.tokenHash);
        return model.store.fail(proof, failure, call);
      },
    };
  }),
  inStore(
    "complete is answered 22 times",
    "complete gives the same answer, however often and also long after, and changes nothing",
    (model) => {
      const calls = new Map<string, number>();
      return {
        async complete(proof, call) {
          const count = (calls.get(proof.tokenHash) ?? 0) + 1;
          calls.set(proof.tokenHash, count);
          return count <= 22 && model.store.complete(proof, call);
        },
      };
    },
  ),
  inStore(
    "the code of a repeated fail is compared without case",
    "a fail with another code, or the same in other case, is another call",
    (model) => ({
      fail(proof, failure, call) {
        const job = jobOf(model, proof.id);
        const isSame = job?.lastCode?.toLowerCase() === failure.code.toLowerCase();
        const code = job?.place.is !== "lease" && isSame ? (job?.lastCode ?? "") : failure.code;
        return model.store.fail(proof, { ...failure, code }, call);
      },
    }),
  ),
  remembering("an earlier fail is answered again once the job has succeeded", (model, { id }) => {
    return jobOf(model, id)?.place.is === "outcome";
  }),
  remembering("an earlier fail is answered again once the next lease has expired", (model, { id }) => {
    const job = jobOf(model, id);
    return job !== undefined && isExpired(job, model);
  }),
];
