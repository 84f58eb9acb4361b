import * as v from "valibot";
import type { CapabilityDefinition, ClientOf, OperationDefinition, ProviderOf } from "./definition.ts";

/** What to wait for. */
export interface WaitRequest {
  /** 1..64 configured queues. */
  readonly queues: readonly string[];
  /** How long to wait at most, in ms, 0..60 000. */
  readonly timeout_ms: number;
}

/** Why the wait ended. */
export interface WaitResponse {
  /** A queue that may have a claimable job, or null at the time-out. It promises no job. */
  readonly queue: string | null;
}

const wait: OperationDefinition<WaitRequest, WaitResponse, "unauthorized" | "invalid_queue"> = {
  request: v.strictObject({
    queues: v.pipe(v.array(v.string()), v.description("1..64 configured queues")),
    timeout_ms: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(60_000)),
  }),
  response: v.strictObject({ queue: v.nullable(v.string()) }),
  errors: ["unauthorized", "invalid_queue"],
};

/** `lenso.jobs-signals@1`: wakes a worker when a job of its queues may be claimable. Polling stays the safety net. */
export const signalsCapability: CapabilityDefinition<{ readonly wait: typeof wait }> = {
  descriptor: {
    capability_id: "lenso.jobs-signals@1",
    descriptor_version: "1.0.0",
    portable: true,
    cross_lane_transfer: true,
    operations: ["wait"],
    stream_operations: [],
    event_operations: [],
  },
  operations: { wait },
};

/** A caller's view of `lenso.jobs-signals@1`. */
export type SignalsClient = ClientOf<(typeof signalsCapability)["operations"]>;

/** An implementation of `lenso.jobs-signals@1`. */
export type SignalsProvider = ProviderOf<(typeof signalsCapability)["operations"]>;
