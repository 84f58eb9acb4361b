import {
  bindJobsProvider,
  type CapabilityProviderBinding,
  type InvocationContext,
  type JobsOperation,
  type JobsProvider,
  type ProviderResult,
} from "../capability/index.ts";
import type { Access } from "./access.ts";
import { type Call, openCall } from "./call.ts";
import { claim } from "./operations/claim.ts";
import { complete } from "./operations/complete.ts";
import { enqueue } from "./operations/enqueue.ts";
import { fail } from "./operations/fail.ts";
import { inspect } from "./operations/inspect.ts";
import { type OperationDeps, refuse } from "./operations/operation.ts";
import { renew } from "./operations/renew.ts";

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

type Operation<Request, Response, Code extends string> = (
  deps: OperationDeps,
  call: Call,
  request: Request,
) => Promise<ProviderResult<Response, Code>>;

/** Puts the caller's role before anything else, so that who may not call never learns whether its values were valid. */
function guardWith(access: Access, deps: OperationDeps) {
  return <Request, Response, Code extends string>(
    name: JobsOperation,
    operation: Operation<Request, Response, Code>,
  ) =>
    async (
      context: InvocationContext,
      request: Request,
    ): Promise<ProviderResult<Response, Code | "unauthorized">> => {
      if (!access(context.callerInstance, name)) return refuse("unauthorized");
      return operation(deps, openCall(context), request);
    };
}
