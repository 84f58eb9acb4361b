import type { JobsOperation as CapabilityOperation } from "../capability/index.ts";
import type { JobsConfig } from "./config.ts";

/** Every operation that the plugin provides, of both its capabilities. */
export type JobsOperation = CapabilityOperation | "wait";

/** Decides who may do what. Built once; an unknown or missing caller may do nothing. */
export type Access = (caller: string | undefined, operation: JobsOperation) => boolean;

/** Producers enqueue; workers claim, renew, complete, fail and wait; all three roles inspect any job of the Instance. */
export function accessOf(config: JobsConfig): Access {
  const producers = new Set(config.producer_instances);
  const workers = new Set(config.worker_instances);
  const observers = new Set(config.observer_instances);
  return (caller, operation) => {
    if (caller === undefined) return false;
    if (operation === "enqueue") return producers.has(caller);
    if (operation === "inspect") return producers.has(caller) || workers.has(caller) || observers.has(caller);
    return workers.has(caller);
  };
}
