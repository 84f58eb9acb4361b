import type { AppPlugin } from "../../capability/index.ts";
import { providersFirst } from "../dependency-order.ts";
import { HostError, type HostErrorCode, type HostProblem } from "../host-error.ts";
import { isAppPlugin } from "./define-operation.ts";

/** A plugin, with its requirements as they were when the application was checked. */
export interface CheckedPlugin {
  readonly plugin: AppPlugin;
  readonly requires: readonly AppPlugin[];
}

/** Checks plugins as a whole and sorts them, each after what it requires. @throws HostError with every problem found. */
export function checkPlugins(plugins: readonly AppPlugin[]): readonly CheckedPlugin[] {
  const problems: HostProblem[] = [];
  const report = (code: HostErrorCode, message: string): void => void problems.push({ code, message });

  const byId = new Map<string, CheckedPlugin>();
  plugins.forEach((plugin, index) => {
    if (!isAppPlugin(plugin)) {
      report("invalid_plugin", `plugins[${index}]: expected { id, requires, setup }, got ${typeof plugin}`);
    } else if (byId.has(plugin.id)) {
      report("duplicate_plugin", `plugins[${index}]: id "${plugin.id}" stands there twice`);
    } else byId.set(plugin.id, { plugin, requires: [...plugin.requires] });
  });
  for (const { plugin, requires } of byId.values()) {
    for (const required of requires) {
      if (!isAppPlugin(required)) {
        report("invalid_plugin", `"${plugin.id}" requires ${typeof required}, expected a plugin`);
      } else if (!byId.has(required.id)) {
        report("missing_plugin", `"${plugin.id}" requires "${required.id}", which is not among the plugins`);
      } else if (byId.get(required.id)?.plugin !== required) {
        report("missing_plugin", `"${plugin.id}" requires another plugin of the id "${required.id}"`);
      }
    }
  }
  const [first, ...others] = problems;
  if (first) throw new HostError(first, ...others);

  const needs = [...byId.values()].flatMap(({ plugin, requires }) =>
    requires.map(({ id }) => ({ consumer: plugin.id, requirement: id, provider: id })),
  );
  const order = providersFirst([...byId.keys()], needs);
  if ("cycle" in order) {
    const path = order.cycle.map((id) => `"${id}"`).join(" requires ");
    throw new HostError({
      code: "dependency_cycle",
      message: `${path}: no order can set requirements up first`,
    });
  }
  return order.keys.map((id) => byId.get(id) as CheckedPlugin);
}
