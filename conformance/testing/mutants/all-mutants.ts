import { accessMutants } from "./access.ts";
import { backoffMutants } from "./backoff.ts";
import { concurrencyMutants } from "./concurrency.ts";
import { endedCallMutants } from "./ended-calls.ts";
import { evidenceMutants } from "./evidence.ts";
import { expiryMutants } from "./expiry.ts";
import { fenceMutants } from "./fence.ts";
import { fencingMutants } from "./fencing.ts";
import { idempotencyMutants } from "./idempotency.ts";
import { identifierMutants } from "./identifiers.ts";
import { keyMutants } from "./keys.ts";
import { leaseMutants } from "./leases.ts";
import { limitMutants } from "./limits.ts";
import type { Mutant } from "./mutant.ts";
import { nameMutants } from "./names.ts";
import { orderMutants } from "./order.ts";
import { payloadMutants } from "./payloads.ts";
import { plainDataMutants } from "./plain-data.ts";
import { redactionMutants } from "./redaction.ts";
import { replayMutants } from "./replay.ts";
import { replyMutants } from "./replies.ts";
import { requestMutants } from "./requests.ts";
import { retirementMutants } from "./retirement.ts";
import { runTimeMutants } from "./run-times.ts";
import { starvationMutants } from "./starvation.ts";
import { stateMutants } from "./states.ts";
import { undeliveredMutants } from "./undelivered.ts";

/** Every mutant of the model, by the area of what it breaks. */
export const allMutants: readonly Mutant[] = [
  ...requestMutants,
  ...identifierMutants,
  ...accessMutants,
  ...nameMutants,
  ...limitMutants,
  ...payloadMutants,
  ...plainDataMutants,
  ...runTimeMutants,
  ...stateMutants,
  ...evidenceMutants,
  ...backoffMutants,
  ...orderMutants,
  ...fencingMutants,
  ...expiryMutants,
  ...leaseMutants,
  ...retirementMutants,
  ...starvationMutants,
  ...replayMutants,
  ...replyMutants,
  ...idempotencyMutants,
  ...keyMutants,
  ...concurrencyMutants,
  ...undeliveredMutants,
  ...endedCallMutants,
  ...redactionMutants,
  ...fenceMutants,
];
