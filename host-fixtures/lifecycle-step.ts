import { type LifecycleContext, RuntimeFailureError, runtimeFailureKinds } from "../capability/index.ts";
import type { Member } from "./invocation.ts";
import { runWithin } from "./time-limit.ts";

/** Runs one step of an Instance's life until the deadline. @throws RuntimeFailureError that names Instance and step. */
export async function runStep(
  { key, instance }: Member,
  step: "prepare" | "activate" | "deactivate",
  deadline: number,
  lookUps: Pick<LifecycleContext, "handle" | "handles">,
): Promise<void> {
  const timeoutMs = Math.max(0, deadline - performance.now());
  let late = false;
  try {
    const result = await runWithin({ timeoutMs }, async (signal) => {
      signal.addEventListener("abort", () => {
        late = true;
      });
      await instance[step]?.({ instanceKey: key, signal, deadline, ...lookUps });
    });
    if (result.ended) return;
  } catch (error) {
    // What a step says of an abort at its deadline is the deadline's doing.
    if (!(late && error instanceof RuntimeFailureError && error.kind === "cancelled")) {
      throw stepFailure(key, step, error);
    }
  }
  throw new RuntimeFailureError("deadline_exceeded", `${step} of "${key}" did not end before its deadline`);
}

/** The failure of an Instance with its key in front. A plugin's own failure keeps its kind; anything else is a bug of the plugin. */
export function stepFailure(key: string, step: string, error: unknown): RuntimeFailureError {
  if (isRuntimeFailure(error)) {
    return new RuntimeFailureError(error.kind, `${step} of "${key}": ${error.detail}`, { cause: error });
  }
  const name = error instanceof Error ? error.constructor.name : typeof error;
  return new RuntimeFailureError("plugin_failure", `${step} of "${key}" failed unexpectedly (${name})`, {
    cause: error,
  });
}

/** Also one of another copy of this package: a plugin may come from a project that has its own. */
function isRuntimeFailure(error: unknown): error is Pick<RuntimeFailureError, "kind" | "detail"> {
  if (error instanceof RuntimeFailureError) return true;
  if (!(error instanceof Error) || error.name !== "RuntimeFailureError") return false;
  const { kind, detail } = error as Partial<RuntimeFailureError>;
  return typeof detail === "string" && runtimeFailureKinds.some((known) => known === kind);
}
