import { put } from "../../../host-fixtures/memory-job.ts";
import type { Model } from "../model-conformance.ts";
import { all, isExpired, type Mutant } from "./mutant.ts";

const voids = "voids every lease at once, whose jobs are then as expired";
const moment = "is the moment from which its jobs wait, those too whose leases had expired unseen";
const leavesAlone = "leaves alone what is queued or has ended";

function fencing(name: string, killer: string, fence: (model: Model) => void): Mutant {
  return { name, killer, departure: { fence } };
}

/** Fences that do too little or too much. */
export const fenceMutants: readonly Mutant[] = [
  fencing("a fence raises generations and nothing else", voids, (model) => {
    for (const job of all(model)) job.generation += 1;
  }),
  fencing("a fence fails what runs", voids, (model) => {
    for (const job of all(model))
      if (job.place.is === "lease") put(job, { is: "outcome", status: "failed" }, model.clock.instant);
  }),
  fencing("a fence queues what runs, the last attempt too", voids, (model) => {
    for (const job of all(model))
      if (job.place.is === "lease") put(job, { is: "ready" }, model.clock.instant);
  }),
  fencing("a fence forgets who completed", leavesAlone, (model) => {
    model.store.fence();
    for (const { place, ...job } of all(model))
      if (place.is === "outcome")
        model.table.byRow.set(job.id.row, { ...job, place: { is: "outcome", status: place.status } });
  }),
  fencing("a fence forgets who failed", leavesAlone, (model) => {
    model.store.fence();
    for (const job of all(model)) if (job.place.is === "ready") job.place = { is: "ready" };
  }),
  fencing("a fence lets leases expire in 1970", moment, (model) => {
    model.store.fence();
    for (const job of all(model))
      if (job.place.is === "lease") job.place = { ...job.place, expiresAt: "1970-01-01T00:00:00.000000Z" };
  }),
  fencing("a fence leaves leases alone that have expired unseen", moment, (model) => {
    const expired = all(model).filter((job) => isExpired(job, model));
    const before = expired.map(({ place }) => place);
    model.store.fence();
    expired.forEach((job, index) => {
      job.place = before[index] ?? job.place;
    });
  }),
  fencing("a fence is a change of what is queued", leavesAlone, (model) => {
    model.store.fence();
    for (const job of all(model)) job.lastCode = "fenced";
  }),
];
