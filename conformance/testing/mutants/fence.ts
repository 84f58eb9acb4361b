import { put } from "../../../host-fixtures/memory-job.ts";
import type { Model } from "../model-conformance.ts";
import { all, type Mutant } from "./mutant.ts";

const voids = "voids every lease at once, whose jobs are then as expired";
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
  fencing("a fence is a change of what is queued", leavesAlone, (model) => {
    model.store.fence();
    for (const job of all(model)) job.lastCode = "fenced";
  }),
];
