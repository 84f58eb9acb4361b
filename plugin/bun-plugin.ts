import {
  type CapabilityDescriptor,
  type CapabilityHandle,
  type CapabilityProviderBinding,
  handleFromInvoke,
  type InvocationContext,
  type JsonSchema,
  jobsCapability,
  type SdkInvoke,
  secretsCapability,
  signalsCapability,
} from "../capability/index.ts";
import configurationSchema from "./config.schema.json" with { type: "json" };
import { type JobsConfig, parseJobsConfig } from "./config.ts";
import { endpointsOf } from "./endpoint.ts";
import { JobsInstance } from "./jobs-instance.ts";
import { packageVersion } from "./package-version.ts";
import { databaseClock } from "./store/sql-context.ts";

/** The step of an Instance's life, as the Lenso Bun SDK hands it over. */
export interface SdkLifecycle extends InvocationContext {
  readonly signal: AbortSignal;
  remainingTimeoutMs(): number;
  /** Key of the Instance, where the SDK says it. */
  readonly instanceKey?: string;
}

/** A started Instance, as `create` gives it and `stop` takes it back. */
export interface JobsPluginInstance {
  readonly jobs: CapabilityProviderBinding;
  readonly signals: CapabilityProviderBinding;
  readonly instance: JobsInstance;
}

/** One capability of the plugin, as the SDK binds it. */
export interface ProvidedCapability {
  readonly kind: "lenso.capability";
  readonly descriptor: CapabilityDescriptor;
  bindProvider(instance: JobsPluginInstance): CapabilityProviderBinding;
}

/** What the Lenso Bun SDK's `definePlugin` takes. The SDK is no dependency: its shapes are enough. */
export interface JobsBunPlugin {
  readonly metadata: {
    readonly pluginId: string;
    readonly rootSlot: string;
    readonly releaseVersion: string;
  };
  readonly provides: readonly [ProvidedCapability, ProvidedCapability];
  readonly dependencies: {
    readonly secrets: {
      readonly kind: "lenso.dependency";
      readonly id: string;
      readonly contract: {
        readonly descriptor: CapabilityDescriptor;
        createClient(invoke: SdkInvoke): CapabilityHandle;
      };
      readonly cardinality: "one";
    };
  };
  readonly config: {
    readonly kind: "lenso.config";
    readonly schema: JsonSchema;
    parse(input: unknown): JobsConfig;
  };
  create(
    inputs: { readonly config: JobsConfig; readonly dependencies: { readonly secrets: CapabilityHandle } },
    lifecycle: SdkLifecycle,
  ): Promise<JobsPluginInstance>;
  stop(instance: JobsPluginInstance, lifecycle: SdkLifecycle): Promise<void>;
  readonly maxConcurrentRequests: number;
}

/**
 * The Jobs plugin as a declaration for the Lenso Bun SDK: `definePlugin(jobsBunPlugin)`. `create` is this host's `prepare`: it
 * resolves the secret, verifies the schema and, at its end, starts maintenance.
 */
export const jobsBunPlugin: JobsBunPlugin = {
  metadata: { pluginId: "lenso.jobs", rootSlot: "jobs", releaseVersion: packageVersion },
  provides: [
    {
      kind: "lenso.capability",
      descriptor: jobsCapability.descriptor,
      bindProvider: ({ jobs }) => jobs,
    },
    {
      kind: "lenso.capability",
      descriptor: signalsCapability.descriptor,
      bindProvider: ({ signals }) => signals,
    },
  ],
  dependencies: {
    secrets: {
      kind: "lenso.dependency",
      id: "secrets",
      contract: { descriptor: secretsCapability.descriptor, createClient: handleFromInvoke },
      cardinality: "one",
    },
  },
  config: { kind: "lenso.config", schema: configurationSchema, parse: parseJobsConfig },
  async create({ config, dependencies }, lifecycle) {
    const instance = new JobsInstance(lifecycle.instanceKey ?? config.schema, config, {
      clock: databaseClock,
      maintenanceIntervalMs: 5000,
    });
    const timeUp = AbortSignal.timeout(Math.max(0, Math.min(lifecycle.remainingTimeoutMs(), 2 ** 31 - 1)));
    try {
      await instance.prepare(dependencies.secrets, AbortSignal.any([lifecycle.signal, timeUp]));
      await instance.activate();
    } catch (error) {
      await instance.deactivate(0);
      throw error;
    }
    return { ...endpointsOf(config, () => instance.store()), instance };
  },
  stop: ({ instance }, lifecycle) => instance.deactivate(lifecycle.remainingTimeoutMs()),
  // Concurrent calls share statements, so the more the better; the store bounds what waits.
  maxConcurrentRequests: 4096,
};
