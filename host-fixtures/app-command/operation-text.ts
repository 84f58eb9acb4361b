import type { OperationDescription } from "../app/describe-operation.ts";

/** An operation for a person to read. */
export function operationText(operation: OperationDescription & { readonly group: string }): string {
  const { group, name, description, effect, destructive, retry, cancellation } = operation;
  const { confirmation, approval, inputSchema, inputSchemaProblem } = operation;
  const lines = [
    `${group} ${name}`,
    `  ${description}`,
    `  effect        ${effect}${destructive ? ", destructive" : ""}`,
    `  retry         ${retry}`,
    `  cancellation  ${cancellation}`,
    ...(confirmation === undefined ? [] : [`  confirmation  ${confirmation}`]),
    ...(approval === undefined ? [] : [`  approval      ${approval}`]),
    `  input         ${inputSchemaProblem ?? JSON.stringify(inputSchema, null, 2).replaceAll("\n", "\n  ")}`,
  ];
  return `${lines.join("\n")}\n`;
}
