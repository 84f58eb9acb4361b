import { accessMutants } from "./access.ts";
import { backoffMutants } from "./backoff.ts";
import { concurrencyMutants } from "./concurrency.ts";
import { endedCallMutants } from "./ended-calls.ts";
import { expiryMutants } from "./expiry.ts";
import { fenceMutants } from "./fence.ts";
import { fencingMutants } from "./fencing.ts";
import { idempotencyMutants } from "./idempotency.ts";
import { limitMutants } from "./limits.ts";
import type { Mutant } from "./mutant.ts";
import { orderMutants } from "./order.ts";
import { payloadMutants } from "./payloads.ts";
import { redactionMutants } from "./redaction.ts";
import { replayMutants } from "./replay.ts";
import { requestMutants } from "./requests.ts";
import { retirementMutants } from "./retirement.ts";
import { runTimeMutants } from "./run-times.ts";
import { stateMutants } from "./states.ts";
import { undeliveredMutants } from "./undelivered.ts";

/** Every mutant of the model, by the area of what it breaks. */
export const allMutants: readonly Mutant[] = [
  ...requestMutants,
  ...accessMutants,
  ...limitMutants,
  ...payloadMutants,
  ...runTimeMutants,
  ...stateMutants,
  ...backoffMutants,
  ...orderMutants,
  ...fencingMutants,
  ...expiryMutants,
  ...retirementMutants,
  ...replayMutants,
  ...idempotencyMutants,
  ...concurrencyMutants,
  ...undeliveredMutants,
  ...endedCallMutants,
  ...redactionMutants,
  ...fenceMutants,
];
