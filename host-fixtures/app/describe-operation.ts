import type { JsonSchema } from "../../capability/index.ts";
import type { Operation } from "./define-operation.ts";
import { inputSchemaOf } from "./input-schema-of.ts";

/** An operation as a caller may know it: what it takes and what a call means. */
export interface OperationDescription extends Omit<Operation, "plugin" | "method" | "input"> {
  readonly name: string;
  /** JSON Schema 2020-12 of the input; null when the schema cannot say it. */
  readonly inputSchema: JsonSchema | null;
  /** Why there is no `inputSchema`; absent when there is one. */
  readonly inputSchemaProblem?: string;
}

export async function describeOperation(name: string, operation: Operation): Promise<OperationDescription> {
  const { plugin: _plugin, method: _method, input, ...declared } = operation;
  const { schema, problem } = await inputSchemaOf(input);
  return {
    name,
    ...declared,
    inputSchema: schema,
    ...(problem === undefined ? {} : { inputSchemaProblem: problem }),
  };
}
