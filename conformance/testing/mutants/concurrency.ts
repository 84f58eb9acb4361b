import { put } from "../../../host-fixtures/memory-job.ts";
import { all, inStore, isExpired, jobOf, type Mutant } from "./mutant.ts";

const differing = "of different settlements in flight together one counts, and its duplicates";

const together =
  "a completion and a claim called together each get their own answer, a refused completion too";
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Reads that are acted upon after somebody else wrote. */
export const concurrencyMutants: readonly Mutant[] = [
  inStore(
    "claims at once choose the same job",
    "50 claims at once get 50 jobs, none of them twice",
    (model) => ({
      async claim(request, call) {
        const seen = all(model).find((job) => job.place.is === "ready" && job.asked.queue === request.queue);
        await Promise.resolve();
        if (seen?.place.is === "lease") {
          seen.attempts -= 1;
          put(seen, { is: "ready" }, model.clock.instant);
        }
        return model.store.claim(request, call);
      },
    }),
  ),
  inStore(
    "claims at once wait for nobody and find nothing",
    "of 50 claims at once for 10 jobs, 10 get one and 40 are told that there is none",
    (model) => {
      let busy = false;
      return {
        async claim(request, call) {
          if (busy) return undefined;
          busy = true;
          try {
            return await model.store.claim(request, call);
          } finally {
            busy = false;
          }
        },
      };
    },
  ),
  inStore(
    "an expired job is taken back by all who see it",
    "claims at once of an expired job give it to one worker",
    (model) => ({
      async claim(request, call) {
        const expired = all(model).filter((job) => isExpired(job, model));
        await Promise.resolve();
        for (const job of expired)
          if (!isExpired(job, model) && job.place.is === "lease")
            put(job, { is: "ready" }, model.clock.instant);
        return model.store.claim(request, call);
      },
    }),
  ),
  inStore(
    "duplicates in flight are refused",
    "duplicates of a settlement in flight together share its answer",
    (model) => {
      const inFlight = new Set<string>();
      return {
        async complete(proof, call) {
          if (inFlight.has(proof.id.row)) return false;
          inFlight.add(proof.id.row);
          try {
            return await model.store.complete(proof, call);
          } finally {
            inFlight.delete(proof.id.row);
          }
        },
      };
    },
  ),
  inStore("settlements in flight all count", differing, (model) => ({
    async complete(proof, call) {
      await Promise.resolve();
      return model.store.complete(proof, call);
    },
    async fail(proof, failure, call) {
      const job = jobOf(model, proof.id);
      const place = job?.place;
      await Promise.resolve();
      if (job && place?.is === "lease" && job.place.is === "outcome") job.place = place;
      return model.store.fail(proof, failure, call);
    },
  })),
  inStore(
    "a renewal in flight undoes a completion",
    "a renewal and a completion in flight together end in a completed job",
    (model) => ({
      async renew(proof, call) {
        const job = jobOf(model, proof.id);
        const renewing = model.store.renew(proof, call);
        const place = job?.place;
        const answer = await renewing;
        if (job && place && answer !== undefined) job.place = place;
        return answer;
      },
    }),
  ),
  inStore("a refused completion spoils the claim that was called with it", together, (model) => {
    let refusals = 0;
    return {
      async complete(proof, call) {
        const answer = await model.store.complete(proof, call);
        if (!answer) refusals += 1;
        return answer;
      },
      async claim(request, call) {
        const before = refusals;
        await nextTurn();
        return refusals === before ? model.store.claim(request, call) : undefined;
      },
    };
  }),
  inStore("a claim that finds nothing spoils the completion that was called with it", together, (model) => {
    let findings = 0;
    return {
      async claim(request, call) {
        const job = await model.store.claim(request, call);
        if (!job) findings += 1;
        return job;
      },
      async complete(proof, call) {
        const before = findings;
        await nextTurn();
        return findings === before && model.store.complete(proof, call);
      },
    };
  }),
  inStore(
    "a claim during enqueues loses one of them",
    "jobs enqueued and claimed at the same time are all handed out once",
    (model) => {
      let enqueues = 0;
      return {
        async enqueue(job, call) {
          enqueues += 1;
          const verdict = await model.store.enqueue(job, call);
          enqueues -= 1;
          return verdict;
        },
        async claim(request, call) {
          const during = enqueues > 0;
          const job = await model.store.claim(request, call);
          return during ? undefined : job;
        },
      };
    },
  ),
];
