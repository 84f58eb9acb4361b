export type { AppPlugin, SetupContext } from "./app-plugin.ts";
export { bindJobsProvider, bindProvider, bindSecretsProvider, bindSignalsProvider } from "./binding.ts";
export {
  createClient,
  createJobsClient,
  createSecretsClient,
  createSignalsClient,
  handleFromInvoke,
  type SdkInvoke,
} from "./client.ts";
export type {
  AnyOperation,
  CapabilityDefinition,
  ClientOf,
  OperationDefinition,
  ProviderOf,
} from "./definition.ts";
export { formatDuration, parseDuration } from "./duration.ts";
export type {
  CapabilityDescriptor,
  CapabilityHandle,
  CapabilityProviderBinding,
  Cardinality,
  InvokeOptions,
  JsonSchema,
  LifecycleContext,
  PluginFactory,
  PluginInstance,
  Requirement,
} from "./host.ts";
export {
  type CallError,
  type CallResult,
  type InvocationContext,
  type ProviderDispatchOutcome,
  type ProviderResult,
  type RuntimeFailure,
  RuntimeFailureError,
  type RuntimeFailureKind,
  runtimeFailureKinds,
  type UnknownDomainError,
} from "./invocation.ts";
export {
  type ClaimRequest,
  type ClaimResponse,
  type CompleteResponse,
  type EnqueueRequest,
  type EnqueueResponse,
  type FailRequest,
  type FailResponse,
  type InspectRequest,
  type InspectResponse,
  type JobStatus,
  type JobsClient,
  type JobsOperation,
  type JobsProvider,
  jobsCapability,
  type LeaseRequest,
  type RenewResponse,
} from "./jobs.ts";
export type { JsonObject, JsonValue } from "./json.ts";
export { isPlainObject, isRootPrototype } from "./plain-object.ts";
export { hideSecrets, redacted, withoutFields } from "./redaction.ts";
export {
  isSecretReference,
  type ResolveRequest,
  type ResolveResponse,
  type SecretsClient,
  type SecretsProvider,
  secretsCapability,
} from "./secrets.ts";
export {
  type SignalsClient,
  type SignalsProvider,
  signalsCapability,
  type WaitRequest,
  type WaitResponse,
} from "./signals.ts";
