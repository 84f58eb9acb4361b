import { accessCases } from "./cases/access.ts";
import { backoffCases } from "./cases/backoff.ts";
import { concurrencyCases } from "./cases/concurrency.ts";
import { endedCallCases } from "./cases/ended-calls.ts";
import { expiryCases } from "./cases/expiry.ts";
import { fenceCases } from "./cases/fence.ts";
import { fencingCases } from "./cases/fencing.ts";
import { idempotencyCases } from "./cases/idempotency.ts";
import { identifierCases } from "./cases/identifiers.ts";
import { inspectCases } from "./cases/inspect.ts";
import { intentCases } from "./cases/intent.ts";
import { keyCases } from "./cases/keys.ts";
import { limitCases } from "./cases/limits.ts";
import { lockWaitCases } from "./cases/lock-waits.ts";
import { orderCases } from "./cases/order.ts";
import { payloadCases } from "./cases/payloads.ts";
import { redactionCases } from "./cases/redaction.ts";
import { renewalCases } from "./cases/renewals.ts";
import { replayCases } from "./cases/replay.ts";
import { requestCases } from "./cases/requests.ts";
import { retirementCases } from "./cases/retirement.ts";
import { runTimeCases } from "./cases/run-times.ts";
import { starvationCases } from "./cases/starvation.ts";
import { stateCases } from "./cases/states.ts";
import { undeliveredCases } from "./cases/undelivered.ts";
import type { ConformanceCase } from "./conformance-case.ts";

export type { ConformanceCase, ConformanceNeed } from "./conformance-case.ts";

/** Every promise of `lenso.jobs@1` that can be seen from outside, by rule. */
export const jobsConformanceCases: readonly ConformanceCase[] = [
  ...requestCases,
  ...identifierCases,
  ...accessCases,
  ...limitCases,
  ...payloadCases,
  ...runTimeCases,
  ...stateCases,
  ...inspectCases,
  ...backoffCases,
  ...orderCases,
  ...fencingCases,
  ...renewalCases,
  ...lockWaitCases,
  ...expiryCases,
  ...retirementCases,
  ...starvationCases,
  ...replayCases,
  ...idempotencyCases,
  ...keyCases,
  ...intentCases,
  ...concurrencyCases,
  ...undeliveredCases,
  ...endedCallCases,
  ...redactionCases,
  ...fenceCases,
];
