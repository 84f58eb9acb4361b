import type { CapabilityHandle, CapabilityProviderBinding, LifecycleContext } from "../capability/index.ts";
import type { CheckedComposition, InstanceSpec } from "./composition.ts";
import { HostError } from "./host-error.ts";
import { type Admission, type Member, openHandle } from "./invocation.ts";

/** The endpoint of an Instance for a capability that its plugin announces. @throws HostError when there is none. */
export function endpointOf({ key, instance }: Member, capability: string): CapabilityProviderBinding {
  const endpoint = instance.endpoints.find((each) => each.descriptor.capability_id === capability);
  if (endpoint) return endpoint;
  const message = `the plugin of "${key}" announces ${capability}, but its Instance has no endpoint for it`;
  throw new HostError({ code: "capability_mismatch", message });
}

/** The providers bound to one requirement. */
export interface Bound {
  readonly many: boolean;
  readonly handles: readonly CapabilityHandle[];
}

/** Finds an Instance's handles by requirement. Handles hold no state, so each look-up makes its own. */
export function handlesIn(
  composition: CheckedComposition,
  members: ReadonlyMap<string, Member>,
  admission: Admission,
) {
  return (key: string, id: string, outside: boolean): Bound => {
    const consumer = members.get(key);
    if (!consumer) throw new HostError({ code: "missing_instance", message: `no Instance "${key}"` });
    const { plugin } = composition.instances.get(key) as InstanceSpec;
    const requirement = plugin.requirements.find((each) => each.id === id);
    if (!requirement) {
      throw new HostError({
        code: "undeclared_requirement",
        message: `"${key}" declares no requirement "${id}"`,
      });
    }
    const handles = composition.bindings
      .filter((each) => each.consumer === key && each.requirement === id)
      .map((each) => members.get(each.provider) as Member)
      .map((provider) => {
        const endpoint = endpointOf(provider, requirement.capability);
        return openHandle({ admission, consumer, provider, endpoint, outside });
      });
    return { many: requirement.cardinality === "many", handles };
  };
}

/** The two ways to ask for handles, by how many providers the requirement takes. */
export function lookUps(
  find: (requirementId: string) => Bound,
): Pick<LifecycleContext, "handle" | "handles"> {
  return {
    handles: (id) => find(id).handles,
    handle(id) {
      const { many, handles } = find(id);
      if (!many) return handles[0];
      throw new HostError({
        code: "ambiguous_binding",
        message: `requirement "${id}" takes many providers: use handles`,
      });
    },
  };
}
