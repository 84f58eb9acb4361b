import type { CapabilityDescriptor, PluginFactory, Requirement } from "../capability/index.ts";
import { providersFirst } from "./dependency-order.ts";
import { HostError, type HostErrorCode, type HostProblem } from "./host-error.ts";

/** A plugin and how this one Instance of it is configured. */
export interface InstanceSpec {
  readonly plugin: PluginFactory;
  readonly configuration?: unknown;
}

/** Satisfies one requirement of one Instance by another Instance. */
export interface BindingSpec {
  readonly consumer: string;
  readonly requirement: string;
  readonly provider: string;
}

/** What runs together: keyed Instances, and who of them serves whom. */
export interface Composition {
  /** By key, or as a list with keys. */
  readonly instances:
    | { readonly [key: string]: InstanceSpec }
    | readonly (InstanceSpec & { readonly key: string })[];
  readonly bindings: readonly BindingSpec[];
}

/** A composition without a mistake. */
export interface CheckedComposition {
  /** Every Instance after the ones that serve it; otherwise in the order in which they were written. */
  readonly instances: ReadonlyMap<string, InstanceSpec>;
  readonly bindings: readonly BindingSpec[];
}

/** Checks a composition as a whole. @throws HostError with every problem found. */
export function checkComposition(composition: Composition): CheckedComposition {
  const problems: HostProblem[] = [];
  const report = (code: HostErrorCode, message: string): void => void problems.push({ code, message });

  const instances = instancesByKey(composition, report);
  composition.bindings.forEach((binding, index) =>
    checkBinding(instances, binding, `bindings[${index}]`, report),
  );
  for (const [key, { plugin }] of instances) {
    for (const requirement of plugin.requirements)
      checkCardinality(key, requirement, composition.bindings, report);
  }
  throwIfAny(problems);

  const order = providersFirst([...instances.keys()], composition.bindings);
  if ("cycle" in order) {
    const path = order.cycle.map((key) => `"${key}"`).join(" needs ");
    throw new HostError({
      code: "dependency_cycle",
      message: `${path}: no order can prepare providers first`,
    });
  }
  const sorted = order.keys.map((key) => [key, instances.get(key) as InstanceSpec] as const);
  return { instances: new Map(sorted), bindings: composition.bindings };
}

type Report = (code: HostErrorCode, message: string) => void;

const keyPattern = /^[A-Za-z0-9._:/-]{1,256}$/;

function instancesByKey({ instances }: Composition, report: Report): Map<string, InstanceSpec> {
  const listed = Array.isArray(instances)
    ? (instances as readonly (InstanceSpec & { key: string })[])
    : undefined;
  const entries = listed?.map((spec) => [spec.key, spec] as const) ?? Object.entries(instances as object);
  const byKey = new Map<string, InstanceSpec>();
  for (const [key, spec] of entries as readonly (readonly [string, InstanceSpec | undefined])[]) {
    if (!keyPattern.test(key)) {
      report("invalid_composition", `instances: a key must be 1..256 of A-Z a-z 0-9 . _ - : /, got "${key}"`);
    } else if (byKey.has(key)) {
      report("duplicate_instance", `instances: "${key}" stands there twice, a key names one Instance`);
    } else if (typeof spec?.plugin?.instantiate !== "function") {
      report(
        "missing_plugin_factory",
        `instances.${key}.plugin: expected a plugin factory, got ${typeof spec?.plugin}`,
      );
    } else {
      byKey.set(key, spec);
    }
  }
  return byKey;
}

function checkBinding(
  instances: ReadonlyMap<string, InstanceSpec>,
  { consumer, requirement, provider }: BindingSpec,
  place: string,
  report: Report,
): void {
  const consumerPlugin = instances.get(consumer)?.plugin;
  const providerPlugin = instances.get(provider)?.plugin;
  if (!consumerPlugin)
    report(
      "missing_instance",
      `${place}.consumer: no Instance "${consumer}", only ${list(instances.keys())}`,
    );
  if (!providerPlugin)
    report(
      "missing_instance",
      `${place}.provider: no Instance "${provider}", only ${list(instances.keys())}`,
    );
  if (!consumerPlugin) return;
  const declared = consumerPlugin.requirements.find((each) => each.id === requirement);
  if (!declared) {
    const ids = list(consumerPlugin.requirements.map((each) => each.id));
    report(
      "undeclared_requirement",
      `${place}.requirement: "${consumer}" declares no requirement "${requirement}", only ${ids}`,
    );
  } else if (providerPlugin) {
    checkCapability(declared, providerPlugin.capabilities, `${place}.provider: "${provider}"`, report);
  }
}

function checkCapability(
  needed: Requirement,
  provided: readonly CapabilityDescriptor[],
  place: string,
  report: Report,
): void {
  const exact = provided.find((each) => each.capability_id === needed.capability);
  const other = provided.find((each) => nameOf(each.capability_id) === nameOf(needed.capability));
  const wanted = `${needed.capability} ${needed.version} or later of the same major`;
  if (exact ? !satisfies(exact.descriptor_version, needed.version) : other !== undefined) {
    const found = (exact ?? other) as CapabilityDescriptor;
    report(
      "version_mismatch",
      `${place} provides ${found.capability_id} ${found.descriptor_version}, needed is ${wanted}`,
    );
  } else if (!exact) {
    const found = list(provided.map((each) => each.capability_id));
    report("capability_mismatch", `${place} does not provide ${needed.capability}, only ${found}`);
  }
}

function checkCardinality(
  key: string,
  requirement: Requirement,
  bindings: readonly BindingSpec[],
  report: Report,
): void {
  const { id, capability, cardinality } = requirement;
  const bound = bindings
    .filter((each) => each.consumer === key && each.requirement === id)
    .map((each) => each.provider);
  if (cardinality === "one" && bound.length === 0) {
    report(
      "missing_binding",
      `"${key}" needs one provider of ${capability} for its requirement "${id}", none is bound`,
    );
  }
  const limit = cardinality === "many" ? new Set(bound).size : 1;
  if (bound.length > limit) {
    const allowed = cardinality === "many" ? "each provider once" : "one provider";
    report("ambiguous_binding", `requirement "${id}" of "${key}" takes ${allowed}, bound are ${list(bound)}`);
  }
}

/** Same major and not lower. */
function satisfies(found: string, needed: string): boolean {
  const [a, b] = [found, needed].map((text) => text.split(".").map(Number)) as [number[], number[]];
  if (a.length !== 3 || b.length !== 3 || a[0] !== b[0]) return false;
  const [minor = 0, patch = 0, neededMinor = 0, neededPatch = 0] = [a[1], a[2], b[1], b[2]];
  return minor > neededMinor || (minor === neededMinor && patch >= neededPatch);
}

const nameOf = (capability: string): string => capability.replace(/@[^@]*$/, "");

function list(names: Iterable<string>): string {
  const quoted = [...names].map((name) => `"${name}"`);
  return quoted.length === 0 ? "none" : quoted.join(", ");
}

function throwIfAny(problems: readonly HostProblem[]): void {
  const [first, ...others] = problems;
  if (first) throw new HostError(first, ...others);
}
