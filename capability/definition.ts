import type { GenericSchema } from "valibot";
import type { CapabilityDescriptor, InvokeOptions } from "./host.ts";
import type { CallResult, InvocationContext, ProviderResult } from "./invocation.ts";

/** One request operation: what goes in, what comes out, and which answers are refusals. */
export interface OperationDefinition<Request, Response, Code extends string> {
  readonly request: GenericSchema<unknown, Request>;
  readonly response: GenericSchema<unknown, Response>;
  readonly errors: readonly Code[];
  /** Keeps secret fields of a request or response out of every printed form. */
  readonly hideRequest?: (request: Request & object) => unknown;
  readonly hideResponse?: (response: Response & object) => unknown;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the operations of a capability differ in their types by design
export type AnyOperation = OperationDefinition<any, any, any>;

/** A capability as this package describes it: the descriptor that hosts see, and the schemas behind it. */
export interface CapabilityDefinition<Operations extends Record<string, AnyOperation>> {
  readonly descriptor: CapabilityDescriptor;
  readonly operations: Operations;
}

type CallOf<Operation> =
  Operation extends OperationDefinition<infer Request, infer Response, infer Code>
    ? (request: Request, context?: InvokeOptions) => Promise<CallResult<Response, Code>>
    : never;

type MethodOf<Operation> =
  Operation extends OperationDefinition<infer Request, infer Response, infer Code>
    ? (context: InvocationContext, request: Request) => Promise<ProviderResult<Response, Code>>
    : never;

/** One method per operation; each resolves to a result and never throws. */
export type ClientOf<Operations extends Record<string, AnyOperation>> = {
  readonly [Name in keyof Operations]: CallOf<Operations[Name]>;
};

/** One method per operation; each resolves to a result and throws only on bugs. */
export type ProviderOf<Operations extends Record<string, AnyOperation>> = {
  readonly [Name in keyof Operations]: MethodOf<Operations[Name]>;
};
