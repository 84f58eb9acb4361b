import { systemClock } from "../../../host-fixtures/clock.ts";
import { put } from "../../../host-fixtures/memory-job.ts";
import type { JobStore, LeaseProof } from "../../../plugin/store/job-store.ts";
import type { Model } from "../model-conformance.ts";
import { all, inStore, isExpired, jobOf, type Mutant, whileLasting } from "./mutant.ts";

const late = (verb: string): string =>
  `${verb} is refused once the lease has expired, also when nobody has the job since`;
const exact = (verb: string): string =>
  `${verb} counts up to the last microsecond of the lease, and not at the instant of its expiry`;
const takenBack = "a claim takes an expired job back: one attempt more, another token, lease_expired";
const queuedAgain = "maintenance queues an expired job again, due since its lease's expiry";

/** The verbs, to which some expired leases look valid. */
export function blindTo(
  model: Model,
  verbs: readonly ("renew" | "complete" | "fail")[],
  seen: (proof: LeaseProof) => boolean = () => true,
): Partial<JobStore> {
  const { store } = model;
  const job = (proof: LeaseProof) => {
    const found = jobOf(model, proof.id);
    return found && seen(proof) ? [found] : [];
  };
  const blind: Pick<JobStore, "renew" | "complete" | "fail"> = {
    renew: (proof, call) => whileLasting(job(proof), () => store.renew(proof, call)),
    complete: (proof, call) => whileLasting(job(proof), () => store.complete(proof, call)),
    fail: (proof, failure, call) => whileLasting(job(proof), () => store.fail(proof, failure, call)),
  };
  return Object.fromEntries(verbs.map((verb) => [verb, blind[verb]]));
}

/** Leases that last too long, and jobs that are not taken back as promised. */
export const expiryMutants: readonly Mutant[] = [
  ...(["renew", "complete", "fail"] as const).map((verb) =>
    inStore(`${verb} does not look at the expiry`, late(verb), (model) => blindTo(model, [verb])),
  ),
  ...(["renew", "complete", "fail"] as const).map((verb) =>
    inStore(`${verb} counts at the instant of the expiry`, exact(verb), (model) =>
      blindTo(model, [verb], ({ id }) => {
        const place = jobOf(model, id)?.place;
        return place?.is === "lease" && place.expiresAt === model.clock.instant;
      }),
    ),
  ),
  ...(["renew", "complete", "fail"] as const).map(
    (verb): Mutant => ({
      name: `${verb} compares the expiry before it waits, and not after`,
      killer: `${verb} that waited past its lease for somebody who changed nothing is refused`,
      departure: {
        outside(model, waiting) {
          const settled = async <T>(proof: LeaseProof, work: () => Promise<T>): Promise<T> => {
            const job = jobOf(model, proof.id);
            if (!job || isExpired(job, model)) return work();
            await model.locks.wait(proof.id);
            return whileLasting([job], work);
          };
          const { store } = model;
          return {
            ...waiting,
            ...(verb === "renew" && { renew: (p, call) => settled(p, () => store.renew(p, call)) }),
            ...(verb === "complete" && { complete: (p, call) => settled(p, () => store.complete(p, call)) }),
            ...(verb === "fail" && { fail: (p, f, call) => settled(p, () => store.fail(p, f, call)) }),
          };
        },
      },
    }),
  ),
  ...(["renew", "complete", "fail"] as const).map(
    (verb): Mutant => ({
      name: `${verb} that had to wait is refused`,
      killer: `${verb} that waited within its lease counts`,
      departure: {
        outside(model, waiting) {
          const refused = async <T>({ id }: LeaseProof, no: T, work: () => Promise<T>): Promise<T> => {
            if (!model.locks.isHeld(id)) return work();
            await model.locks.wait(id);
            return no;
          };
          return {
            ...waiting,
            ...(verb === "renew" && {
              renew: (p, call) => refused(p, undefined, () => waiting.renew(p, call)),
            }),
            ...(verb === "complete" && {
              complete: (p, call) => refused(p, false, () => waiting.complete(p, call)),
            }),
            ...(verb === "fail" && {
              fail: (p, f, call) => refused(p, undefined, () => waiting.fail(p, f, call)),
            }),
          };
        },
      },
    }),
  ),
  {
    name: "the process's clock decides",
    killer: "a claim, and the lease that it gives, date from the moment of the claim",
    departure: { clock: () => systemClock },
  },
  inStore("an expired job is never handed out again", takenBack, (model) => ({
    claim: (request, call) =>
      whileLasting(
        all(model).filter((job) => isExpired(job, model) && job.attempts < job.asked.maxAttempts),
        () => model.store.claim(request, call),
      ),
  })),
  inStore(
    "a job that is taken back keeps its old code",
    "lease_expired replaces the worker's code, and stays after success",
    (model) => ({
      claim(request, call) {
        const codes = all(model).map((job) => [job, job.lastCode] as const);
        const claimed = model.store.claim(request, call);
        for (const [job, code] of codes) if (job.lastCode === "lease_expired") job.lastCode = code;
        return claimed;
      },
    }),
  ),
  inStore("a lost attempt is not counted", takenBack, (model) => ({
    async claim(request, call) {
      const expired = new Set(all(model).filter((job) => isExpired(job, model)));
      const leased = await model.store.claim(request, call);
      const job = leased && jobOf(model, leased.id);
      if (!job || !expired.has(job)) return leased;
      job.attempts -= 1;
      return { ...leased, attempt: job.attempts };
    },
  })),
  inStore(
    "a claim takes back the expired jobs of every queue",
    "a claim of another queue leaves an expired job alone",
    (model) => ({
      claim(request, call) {
        model.store.maintain();
        return model.store.claim(request, call);
      },
    }),
  ),
  {
    name: "maintenance takes valid leases too",
    killer: "maintenance leaves a valid lease alone, up to its last microsecond",
    departure: {
      maintain(model) {
        for (const job of all(model))
          if (job.place.is === "lease") job.place = { ...job.place, expiresAt: model.clock.instant };
        model.store.maintain();
      },
    },
  },
  { name: "maintenance does nothing", killer: queuedAgain, departure: { maintain: () => {} } },
  {
    name: "maintenance makes an expired job due from now",
    killer: "a job that was taken back is handed out by its lease's expiry, under a lease from now",
    departure: {
      maintain(model) {
        const expired = all(model).filter((job) => isExpired(job, model));
        model.store.maintain();
        for (const job of expired) if (job.place.is === "ready") job.nextRun = model.clock.instant;
      },
    },
  },
  {
    name: "maintenance lets the last holder settle",
    killer: "a lease that maintenance took back settles nothing any more",
    departure: {
      maintain(model) {
        const expired = all(model).filter((job) => isExpired(job, model));
        const holders = expired.map((job) => job.place);
        model.store.maintain();
        expired.forEach((job, index) => {
          const place = holders[index];
          if (job.place.is !== "ready" || place?.is !== "lease") return;
          job.lastCode = "late";
          put(job, { is: "ready", settledBy: place }, model.clock.instant);
        });
      },
    },
  },
];
