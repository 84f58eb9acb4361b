import type { AppPlugin } from "../../capability/index.ts";
import { HostError } from "../host-error.ts";
import { checkOperation, type Operation } from "./define-operation.ts";

/** Operations by the names under which they are called. */
export interface OperationsByName {
  readonly [name: string]: Operation;
}

/** What of one plugin may be managed. */
export interface Manage<Operations extends OperationsByName = OperationsByName> {
  readonly plugin: AppPlugin;
  readonly operations: Operations;
}

/**
 * Names operations of one plugin, so that an adapter can serve them. The declarations stay the very objects that were given.
 *
 * @throws HostError `invalid_operation` for a name other than `^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`, or an operation of another plugin.
 * @example
 * const manage = defineManage({ plugin: reports, operations: { submit, query, cancel } });
 */
export function defineManage<const Operations extends OperationsByName>(definition: {
  readonly plugin: AppPlugin;
  readonly operations: Operations;
}): Manage<Operations> {
  const { plugin, operations } = definition;
  for (const [name, operation] of Object.entries(operations)) {
    const place = `operations.${name}`;
    if (!namePattern.test(name)) throw refusal(`${place}: expected a name like ${namePattern.source}`);
    checkOperation(operation, place);
    if (operation.plugin !== plugin)
      throw refusal(`${place}: belongs to plugin "${operation.plugin.id}", expected that of "${plugin.id}"`);
  }
  return Object.freeze({ plugin, operations: Object.freeze({ ...operations }) });
}

/** Also what every model provider accepts as a tool's name. */
const namePattern = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

function refusal(message: string): HostError {
  return new HostError({ code: "invalid_operation", message });
}
