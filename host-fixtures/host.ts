import type {
  CapabilityHandle,
  PluginFactory,
  PluginInstance,
  RuntimeFailureError,
} from "../capability/index.ts";
import { type CheckedComposition, type Composition, checkComposition } from "./composition.ts";
import { endpointOf, handlesIn, lookUps } from "./handles.ts";
import { HostError } from "./host-error.ts";
import type { Admission, Member } from "./invocation.ts";
import { runStep, stepFailure } from "./lifecycle-step.ts";

export interface HostOptions extends Composition {
  /**
   * Operations, as `capability/operation`, that the shutdown closes at once for everybody, so that workers take no new work
   * while they finish what they have. Default: `lenso.jobs@1/claim` and `lenso.jobs-signals@1/wait`.
   */
  readonly closeFirst?: readonly string[];
  /** How long each Instance may take to prepare, in ms. Default 30 000. */
  readonly prepareTimeoutMs?: number;
  /** How long each Instance may take to activate, in ms. Default 30 000. */
  readonly activateTimeoutMs?: number;
  /** How long all Instances together may take to deactivate, in ms. Too low cuts work that would have finished. Default 30 000. */
  readonly stopTimeoutMs?: number;
}

/** A running composition. */
export interface Host {
  /**
   * What the Instance itself gets for its `one` or `optional` requirement, its caller identity included; undefined when an
   * optional one is not bound. Calls through it are calls from outside: they end with the first moment of `stop`.
   *
   * @throws HostError `missing_instance`, `undeclared_requirement`, or `ambiguous_binding` for a `many` requirement.
   */
  handle(instanceKey: string, requirementId: string): CapabilityHandle | undefined;
  /** The same for a `many` requirement, in the order of the composition. */
  handles(instanceKey: string, requirementId: string): readonly CapabilityHandle[];
  /** Drains and deactivates in reverse order until one deadline. Every call gets the same run; rejects with what failed. */
  stop(): Promise<void>;
}

const defaultCloseFirst = ["lenso.jobs@1/claim", "lenso.jobs-signals@1/wait"];

/**
 * Checks a composition, prepares every Instance, providers first, then activates them in the same order.
 *
 * @throws HostError when the composition is wrong; nothing was started.
 * @throws RuntimeFailureError when an Instance refused its configuration or failed to start. Every Instance that was
 * touched has been deactivated by then, in reverse; an AggregateError with the cause first reports those that failed at it.
 * @example
 * const host = await startHost({
 *   instances: {
 *     secrets: { plugin: secretsFromEnvironment({ "jobs/database": "DATABASE_URL" }) },
 *     jobs: { plugin: jobsPlugin, configuration },
 *     accounts: { plugin: accountsPlugin },
 *   },
 *   bindings: [
 *     { consumer: "jobs", requirement: "secrets", provider: "secrets" },
 *     { consumer: "accounts", requirement: "jobs", provider: "jobs" },
 *   ],
 * });
 * const jobs = createJobsClient(host.handle("accounts", "jobs"));
 */
export async function startHost(options: HostOptions): Promise<Host> {
  const { prepareTimeoutMs = 30_000, activateTimeoutMs = 30_000, stopTimeoutMs = 30_000 } = options;
  checkTimeouts({ prepareTimeoutMs, activateTimeoutMs, stopTimeoutMs });
  const composition = checkComposition(options);
  const members = instantiateAll(composition);
  const admission: Admission = {
    closing: false,
    closeFirst: new Set(options.closeFirst ?? defaultCloseFirst),
    waits: new Set(),
    calls: 0,
  };
  const handlesOf = handlesIn(composition, members, admission);
  const contextOf = (member: Member) => lookUps((id) => handlesOf(member.key, id, false));

  const touched: Member[] = [];
  const run = async (member: Member, step: "prepare" | "activate", timeoutMs: number) =>
    runStep(member, step, performance.now() + timeoutMs, contextOf(member));
  const deactivateAll = async (): Promise<RuntimeFailureError[]> => {
    admission.closing = true;
    for (const wait of admission.waits) wait.abort();
    const deadline = performance.now() + stopTimeoutMs;
    const failures: RuntimeFailureError[] = [];
    for (const member of touched.toReversed()) {
      await runStep(member, "deactivate", deadline, contextOf(member)).catch((error: RuntimeFailureError) =>
        failures.push(error),
      );
      member.phase = "ended";
    }
    return failures;
  };

  try {
    for (const member of members.values()) {
      touched.push(member);
      await run(member, "prepare", prepareTimeoutMs);
      member.phase = "prepared";
    }
    for (const member of touched) await run(member, "activate", activateTimeoutMs);
  } catch (error) {
    throw together(error as RuntimeFailureError, await deactivateAll());
  }

  const stop = async (): Promise<void> => {
    const [first, ...others] = await deactivateAll();
    if (first) throw together(first, others);
  };
  let stopped: Promise<void> | undefined;
  return {
    handle: (key, id) => lookUps((each) => handlesOf(key, each, true)).handle(id),
    handles: (key, id) => lookUps((each) => handlesOf(key, each, true)).handles(id),
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

function instantiateAll({ instances }: CheckedComposition): Map<string, Member> {
  const members = new Map<string, Member>();
  for (const [key, { plugin, configuration }] of instances) {
    const member: Member = { key, instance: instantiate(key, plugin, configuration), phase: "unprepared" };
    for (const { capability_id: id } of plugin.capabilities) endpointOf(member, id);
    members.set(key, member);
  }
  return members;
}

function instantiate(key: string, plugin: PluginFactory, configuration: unknown): PluginInstance {
  try {
    return plugin.instantiate({ instanceKey: key, configuration });
  } catch (error) {
    throw stepFailure(key, "instantiate", error);
  }
}

function checkTimeouts(timeouts: Readonly<Record<string, number>>): void {
  for (const [key, value] of Object.entries(timeouts)) {
    if (Number.isFinite(value) && value > 0) continue;
    throw new HostError({
      code: "invalid_composition",
      message: `${key}: expected milliseconds above 0, got ${value}`,
    });
  }
}

/** One failure as itself, several as one error with the first in front. */
function together(first: RuntimeFailureError, others: readonly RuntimeFailureError[]): Error {
  const all = [first, ...others];
  return others.length === 0 ? first : new AggregateError(all, all.map((each) => each.message).join("; "));
}
