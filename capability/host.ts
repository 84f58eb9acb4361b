import type { InvocationContext, ProviderDispatchOutcome } from "./invocation.ts";

/** A JSON Schema 2020-12 document. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** How many providers a requirement takes. */
export type Cardinality = "one" | "optional" | "many";

/** What an Instance needs from its host before it can start. */
export interface Requirement {
  /** Name by which the Instance asks for it: `context.handle(id)`. */
  readonly id: string;
  /** Capability id with its major version, such as `lenso.secrets@1`. */
  readonly capability: string;
  /** Lowest descriptor version that will do, such as `1.0.0`. A provider of the same major and not lower satisfies it. */
  readonly version: string;
  readonly cardinality: Cardinality;
}

/** Identity and operations of a capability, as a provider announces it. */
export interface CapabilityDescriptor {
  readonly capability_id: string;
  readonly descriptor_version: string;
  /** Requests and responses are plain JSON: a host may carry them across a process or machine. */
  readonly portable?: boolean;
  /** Values may move between execution lanes of a host without a handle of their own. */
  readonly cross_lane_transfer?: boolean;
  readonly operations: readonly string[];
  readonly stream_operations: readonly string[];
  readonly event_operations: readonly string[];
}

/** A provider as its host calls it: undecoded payloads in, outcomes out. */
export interface CapabilityProviderBinding {
  readonly descriptor: CapabilityDescriptor;
  invokeRequest(
    operation: string,
    context: InvocationContext,
    payload: unknown,
  ): Promise<ProviderDispatchOutcome>;
}

/** Per-call options of a consumer. Both bound the call, not the job. */
export interface InvokeOptions {
  /** Aborting answers `cancelled`; an effect already under way may still happen. */
  readonly signal?: AbortSignal;
  /** Longest time to wait for the answer, in ms. Past it: `deadline_exceeded`. Default: the host's. */
  readonly timeoutMs?: number;
}

/** A consumer's end of one binding. The caller's identity is fixed by the handle; a payload cannot set it. */
export interface CapabilityHandle {
  invoke(operation: string, payload: unknown, options?: InvokeOptions): Promise<ProviderDispatchOutcome>;
}

/** What an Instance gets for each step of its life. */
export interface LifecycleContext {
  readonly instanceKey: string;
  readonly signal: AbortSignal;
  /** When the step must be over, in ms on the monotonic clock of `performance.now()`. */
  readonly deadline: number;
  /** The bound provider of a `one` or `optional` requirement; undefined when an optional one is not bound. */
  handle(requirementId: string): CapabilityHandle | undefined;
  /** All bound providers of a `many` requirement, in the order of the composition. */
  handles(requirementId: string): readonly CapabilityHandle[];
}

/** A plugin as a host composes it. Importing or instantiating one does no I/O. */
export interface PluginFactory {
  readonly packageId: string;
  readonly packageVersion: string;
  readonly requirements: readonly Requirement[];
  readonly capabilities: readonly CapabilityDescriptor[];
  readonly configurationSchema?: JsonSchema;
  /** @throws RuntimeFailureError `invalid_resolved_plan` when the configuration does not fit. */
  instantiate(input: { instanceKey: string; configuration: unknown; entrypoint?: string }): PluginInstance;
}

/** One keyed Instance of a plugin. */
export interface PluginInstance {
  readonly endpoints: readonly CapabilityProviderBinding[];
  /** Checks and connects; starts nothing. A rejection rolls the host back. */
  prepare?(context: LifecycleContext): Promise<void>;
  /** Starts background work. */
  activate?(context: LifecycleContext): Promise<void>;
  /** Refuses new calls, finishes those in flight until the deadline, releases everything. Safe twice and before start. */
  deactivate?(context: LifecycleContext): Promise<void>;
}
