import type {
  CapabilityDescriptor,
  CapabilityProviderBinding,
  Cardinality,
  PluginFactory,
  PluginInstance,
  Requirement,
} from "../../capability/index.ts";

/** A small plugin of a test: what it needs, what it provides, and what it does at each step. */
export interface TestPluginOptions extends Pick<PluginInstance, "prepare" | "activate" | "deactivate"> {
  /** Requirement ids; each takes one provider of `test.echo@1` unless said otherwise. */
  readonly needs?: readonly (string | (Partial<Requirement> & { readonly id: string }))[];
  /** Descriptors' ids and versions. Default: `test.echo@1` 1.0.0. */
  readonly provides?: Readonly<Record<string, string>>;
  /** Default: answers with what arrived. */
  readonly answer?: CapabilityProviderBinding["invokeRequest"];
  readonly instantiate?: (configuration: unknown) => void;
}

export function testPlugin(options: TestPluginOptions = {}): PluginFactory {
  const { prepare, activate, deactivate } = options;
  const answer =
    options.answer ?? (async (_operation, _context, payload) => ({ kind: "success", value: payload }));
  const capabilities = Object.entries(options.provides ?? { "test.echo@1": "1.0.0" }).map(descriptor);
  return {
    packageId: "test.plugin",
    packageVersion: "1.0.0",
    requirements: (options.needs ?? []).map(requirement),
    capabilities,
    instantiate({ configuration }) {
      options.instantiate?.(configuration);
      const endpoints = capabilities.map((each) => ({ descriptor: each, invokeRequest: answer }));
      return {
        endpoints,
        ...(prepare && { prepare }),
        ...(activate && { activate }),
        ...(deactivate && { deactivate }),
      };
    },
  };
}

/** A plugin that writes each step of each Instance into a list, and what it does besides. */
export function tracedPlugin(events: string[], options: TestPluginOptions = {}): PluginFactory {
  const traced = (step: "prepare" | "activate" | "deactivate"): PluginInstance["prepare"] => {
    return async (context) => {
      events.push(`${step} ${context.instanceKey}`);
      await options[step]?.(context);
    };
  };
  const steps = {
    prepare: traced("prepare"),
    activate: traced("activate"),
    deactivate: traced("deactivate"),
  };
  return testPlugin({ ...options, ...(steps as TestPluginOptions) });
}

function requirement(need: string | (Partial<Requirement> & { readonly id: string })): Requirement {
  const cardinality: Cardinality = "one";
  const given = typeof need === "string" ? { id: need } : need;
  return { capability: "test.echo@1", version: "1.0.0", cardinality, ...given };
}

function descriptor([capability_id, descriptor_version]: [string, string]): CapabilityDescriptor {
  return {
    capability_id,
    descriptor_version,
    operations: ["echo"],
    stream_operations: [],
    event_operations: [],
  };
}
