import { HostError } from "../host-error.ts";
import type { Manage, OperationsByName } from "./define-manage.ts";

/**
 * The named operations and no others, as the same declaration objects under the same names: an explicit allow-list.
 *
 * @throws HostError `unknown_operation` or `duplicate_operation`
 * @example
 * export const mcpOperations = selectManageOperations(manage, ["submit", "query"]);
 */
export function selectManageOperations<
  Operations extends OperationsByName,
  const Name extends keyof Operations & string,
>(manage: Manage<Operations>, names: readonly Name[]): Pick<Operations, Name> {
  const selected = new Map<string, unknown>();
  for (const name of names) {
    if (!Object.hasOwn(manage.operations, name)) {
      const known = Object.keys(manage.operations).join(", ");
      throw new HostError({
        code: "unknown_operation",
        message: `no operation "${name}", only ${known || "none"}`,
      });
    }
    if (selected.has(name)) {
      throw new HostError({ code: "duplicate_operation", message: `"${name}" was named twice` });
    }
    selected.set(name, manage.operations[name]);
  }
  return Object.freeze(Object.fromEntries(selected)) as Pick<Operations, Name>;
}
