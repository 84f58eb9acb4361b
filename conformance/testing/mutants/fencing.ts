import { createHash } from "node:crypto";
import { formatLeaseToken, hashLeaseToken } from "../../../plugin/lease-token.ts";
import type { LeaseProof } from "../../../plugin/store/job-store.ts";
import { rewriting } from "./endpoints.ts";
import { agreeing, all, deadly, inStore, jobOf, type Mutant, settlingWith } from "./mutant.ts";

const handedOut = (verb: string): string =>
  `${verb} under a lease whose job was handed out again is refused and changes nothing`;
const otherJob = (verb: string): string =>
  `${verb} with the token of another job is refused, although worker and attempt are the same`;

/** Proofs of which a part is not compared. */
export const fencingMutants: readonly Mutant[] = [
  ...(["renew", "complete", "fail"] as const).map((verb) =>
    inStore(`${verb} has no fence`, handedOut(verb), (model) =>
      settlingWith(model, (proof) => agreeing(model, proof, ["owner", "tokenHash"]), [verb]),
    ),
  ),
  ...(["renew", "complete", "fail"] as const).map((verb) =>
    inStore(
      `${verb} compares no owner`,
      `${verb} by another worker that has the token is refused and changes nothing`,
      (model) => settlingWith(model, (proof) => agreeing(model, proof, ["owner"]), [verb]),
    ),
  ),
  ...(["renew", "complete", "fail"] as const).map((verb) =>
    inStore(`${verb} compares no token`, `${verb} with a token that nobody was given is refused`, (model) =>
      settlingWith(model, (proof) => agreeing(model, proof, ["tokenHash"]), [verb]),
    ),
  ),
  inStore("the attempt is the fence", otherJob("complete"), (model) => {
    const attempts = new Map<string, number>();
    return {
      async claim(request, call) {
        const job = await model.store.claim(request, call);
        if (job) attempts.set(hashLeaseToken(job.token) ?? "", job.attempt);
        return job;
      },
      ...settlingWith(model, (proof) => {
        const same = attempts.get(proof.tokenHash) === jobOf(model, proof.id)?.attempts;
        return same ? agreeing(model, proof, ["tokenHash"]) : proof;
      }),
    };
  }),
  inStore(
    "the token of any attempt is good",
    "the tokens of all earlier attempts open no later one",
    (model) => {
      const given = new Set<string>();
      return {
        async claim(request, call) {
          const job = await model.store.claim(request, call);
          if (job) given.add(`${job.id.row} ${hashLeaseToken(job.token) ?? ""}`);
          return job;
        },
        ...settlingWith(model, (proof) =>
          given.has(`${proof.id.row} ${proof.tokenHash}`) ? agreeing(model, proof, ["tokenHash"]) : proof,
        ),
      };
    },
  ),
  inStore("a job has one token for all its attempts", handedOut("complete"), (model) => ({
    async claim(request, call) {
      const leased = await model.store.claim(request, call);
      const job = leased && jobOf(model, leased.id);
      if (job?.place.is !== "lease") return leased;
      const token = formatLeaseToken(createHash("sha256").update(job.id.nonce).digest());
      job.place = { ...job.place, tokenHash: hashLeaseToken(token) ?? "" };
      return { ...leased, token } as typeof leased;
    },
  })),
  ...(["renew", "complete", "fail"] as const).map((verb) =>
    inStore(`${verb} finds the lease by its token, whichever job is named`, otherJob(verb), (model) =>
      settlingWith(
        model,
        (proof) => {
          const holder = all(model).find(
            ({ place }) => place.is === "lease" && place.tokenHash === proof.tokenHash,
          );
          return holder ? { ...proof, id: holder.id } : proof;
        },
        [verb],
      ),
    ),
  ),
  inStore(
    "the random part of a job id is not compared",
    "an id that was not handed out names nothing, however close it is",
    (model) => {
      const whole = (proof: LeaseProof): LeaseProof => ({
        ...proof,
        id: jobOf(model, proof.id)?.id ?? proof.id,
      });
      return {
        inspect: (id, call) => model.store.inspect(jobOf(model, id)?.id ?? id, call),
        ...settlingWith(model, whole),
      };
    },
  ),
  deadly(
    inStore(
      "a renewal needs another token afterwards",
      "a token is good for any number of renewals",
      (model) => ({
        async renew(proof, call) {
          const expiresAt = await model.store.renew(proof, call);
          const job = jobOf(model, proof.id);
          if (expiresAt !== undefined && job?.place.is === "lease")
            job.place = { ...job.place, tokenHash: "" };
          return expiresAt;
        },
      }),
    ),
  ),
  rewriting(
    "a token is read leniently",
    "a token that is spelt in any other way is another token",
    (payload) => {
      const { lease_token: token } = payload;
      if (typeof token !== "string" || !token.startsWith("job_lease_")) return payload;
      const bytes = Buffer.from(token.slice("job_lease_".length), "base64url").subarray(0, 32);
      return bytes.length === 32 ? { ...payload, lease_token: formatLeaseToken(bytes) } : payload;
    },
  ),
];
