import {
  bindJobsProvider,
  bindSignalsProvider,
  type CapabilityProviderBinding,
  type InvocationContext,
  type JobsProvider,
  type ProviderResult,
} from "../capability/index.ts";
import { type Access, accessOf, type JobsOperation } from "./access.ts";
import { type Call, openCall } from "./call.ts";
import type { JobsConfig } from "./config.ts";
import { claim } from "./operations/claim.ts";
import { complete } from "./operations/complete.ts";
import { enqueue } from "./operations/enqueue.ts";
import { fail } from "./operations/fail.ts";
import { inspect } from "./operations/inspect.ts";
import { type OperationDeps, refuse } from "./operations/operation.ts";
import { renew } from "./operations/renew.ts";
import { type WaitDeps, wait } from "./operations/wait.ts";
import type { JobStore } from "./store/job-store.ts";
import type { SignalSource } from "./store/wake/signal-source.ts";

/** Both endpoints of an Instance. `store` throws before `prepare` and after `deactivate`. */
export function endpointsOf(
  config: JobsConfig,
  store: () => JobStore & SignalSource,
): { readonly jobs: CapabilityProviderBinding; readonly signals: CapabilityProviderBinding } {
  const access = accessOf(config);
  const queues = new Set(config.queues);
  return {
    jobs: jobsEndpoint(access, { queues, store }),
    signals: signalsEndpoint(access, { queues, signals: store }),
  };
}

/** The `lenso.jobs-signals@1` endpoint, for workers. */
function signalsEndpoint(access: Access, deps: WaitDeps): CapabilityProviderBinding {
  return bindSignalsProvider({ wait: guardWith(access, deps)("wait", wait) });
}

/** The `lenso.jobs@1` endpoint: decode, authorise, operate, encode, in this order for every operation. */
export function jobsEndpoint(access: Access, deps: OperationDeps): CapabilityProviderBinding {
  const guard = guardWith(access, deps);
  const provider: JobsProvider = {
    claim: guard("claim", claim),
    complete: guard("complete", complete),
    enqueue: guard("enqueue", enqueue),
    fail: guard("fail", fail),
    inspect: guard("inspect", inspect),
    renew: guard("renew", renew),
  };
  return bindJobsProvider(provider);
}

type Operation<Deps, Request, Response, Code extends string> = (
  deps: Deps,
  call: Call,
  request: Request,
) => Promise<ProviderResult<Response, Code>>;

/** Puts the caller's role before anything else, so that who may not call never learns whether its values were valid. */
function guardWith<Deps>(access: Access, deps: Deps) {
  return <Request, Response, Code extends string>(
    name: JobsOperation,
    operation: Operation<Deps, Request, Response, Code>,
  ) =>
    (
      context: InvocationContext,
      request: Request,
    ): Promise<ProviderResult<Response, Code | "unauthorized">> =>
      access(context.callerInstance, name)
        ? operation(deps, openCall(context), request)
        : Promise.resolve(refuse("unauthorized"));
}
