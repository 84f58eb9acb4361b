import { rewriting } from "./endpoints.ts";
import { all, inStore, type Mutant } from "./mutant.ts";

const asciiOnly = "names have letters, digits and . _ - : / of ASCII only";
const nameFields = ["kind", "idempotency_key", "failure_code"];

/** A mutant whose names may hold more characters than they should. */
function allowing(what: string, characters: RegExp): Mutant {
  return rewriting(`names may hold ${what}`, asciiOnly, (fields) => {
    const entries = Object.entries(fields).map(([key, value]) => [
      key,
      nameFields.includes(key) && typeof value === "string" ? value.replace(characters, "-") : value,
    ]);
    return Object.fromEntries(entries);
  });
}

/** Names of more characters, or compared without case. */
export const nameMutants: readonly Mutant[] = [
  allowing("a tilde", /~/g),
  allowing("an equals sign", /[=]/g),
  allowing("brackets and other signs of ASCII", /[*#$!&;<>?^`{|}()[\]]/g),
  allowing("letters that are of ASCII when case does not count", /[\u212a\u017f]/g),
  allowing("a carriage return", /\r/g),
  inStore(
    "jobs and queues are matched without case",
    "a queue's name has up to 128 characters, and their case counts",
    (model) => ({
      claim(request, call) {
        const asked = request.queue.toLowerCase();
        const queue = all(model).find(
          (job) => job.place.is === "ready" && job.asked.queue.toLowerCase() === asked,
        )?.asked.queue;
        return model.store.claim({ ...request, queue: queue ?? request.queue }, call);
      },
    }),
  ),
];
