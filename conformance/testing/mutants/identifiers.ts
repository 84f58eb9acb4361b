import { atEndpoint, isFields } from "./endpoints.ts";
import { inStore, jobOf, type Mutant } from "./mutant.ts";

const respelt = "a token that is spelt in any other way is another token";

/** A mutant to which ids or tokens are the same when a part of them is. */
function comparing(
  name: string,
  killer: string,
  field: "job_id" | "lease_token",
  part: (text: string) => string,
): Mutant {
  const seen = new WeakMap<object, Map<string, string>>();
  return atEndpoint(name, killer, async ({ operation, context, payload, fields, model }, inner) => {
    const given = seen.get(model) ?? new Map<string, string>();
    seen.set(model, given);
    const asked = fields[field];
    const meant = typeof asked === "string" ? given.get(part(asked)) : undefined;
    const read = meant === undefined ? payload : { ...fields, [field]: meant };
    const outcome = await inner(operation, context, read);
    const answer = outcome.kind === "success" && isFields(outcome.value) ? outcome.value[field] : undefined;
    if (typeof answer === "string") given.set(part(answer), answer);
    return outcome;
  });
}

/** Ids and tokens that are compared loosely, or can be guessed. */
export const identifierMutants: readonly Mutant[] = [
  comparing(
    "tokens are compared without case, except for their last character",
    respelt,
    "lease_token",
    (text) => text.slice(0, -1).toLowerCase() + text.slice(-1),
  ),
  comparing("only the end of a token is compared", respelt, "lease_token", (text) => text.slice(-12)),
  comparing(
    "job ids are compared without case",
    "an id that was not handed out names nothing, however close it is",
    "job_id",
    (text) => text.toLowerCase(),
  ),
  inStore(
    "the random part of an id is the same for all jobs",
    "every job has an id of its own, and every claim a token of its own",
    (model) => ({
      async enqueue(asked, call) {
        const verdict = await model.store.enqueue(asked, call);
        const job = verdict.kind === "created" ? jobOf(model, verdict.id) : undefined;
        if (verdict.kind !== "created" || !job) return verdict;
        const id = { row: job.id.row, nonce: "0123456789abcdef0123" };
        Object.assign(job, { id });
        return { ...verdict, id };
      },
    }),
  ),
];
