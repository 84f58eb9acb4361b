import * as v from "valibot";
import type { CapabilityDefinition, ClientOf, OperationDefinition, ProviderOf } from "./definition.ts";
import { hideSecrets, withoutFields } from "./redaction.ts";

/** Names a secret; holds none. */
export interface ResolveRequest {
  /** 1..256 of letters, digits and `. _ - /`; segments are parted by `/` and are neither empty, `.` nor `..`. */
  readonly reference: string;
}

/** The secret itself. */
export interface ResolveResponse {
  /** Secret: never printed or logged. */
  readonly value: string;
}

const printedValue = withoutFields<ResolveResponse>("value");

const resolve: OperationDefinition<
  ResolveRequest,
  ResolveResponse,
  "invalid_reference" | "unknown_reference"
> = {
  request: v.strictObject({ reference: v.string() }),
  response: v.strictObject({ value: v.string() }),
  errors: ["invalid_reference", "unknown_reference"],
  hideResponse: (response) => hideSecrets(response, printedValue),
};

/** `lenso.secrets@1`: looks a secret up by reference. */
export const secretsCapability: CapabilityDefinition<{ readonly resolve: typeof resolve }> = {
  descriptor: {
    capability_id: "lenso.secrets@1",
    descriptor_version: "1.0.0",
    portable: true,
    cross_lane_transfer: false,
    operations: ["resolve"],
    stream_operations: [],
    event_operations: [],
  },
  operations: { resolve },
};

/** A caller's view of `lenso.secrets@1`. */
export type SecretsClient = ClientOf<(typeof secretsCapability)["operations"]>;

/** An implementation of `lenso.secrets@1`. */
export type SecretsProvider = ProviderOf<(typeof secretsCapability)["operations"]>;

/** True for a well-formed secret reference. Says nothing of whether the secret exists. */
export function isSecretReference(text: string): boolean {
  if (text.length > 256 || !/^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/.test(text)) return false;
  return !text.split("/").some((segment) => segment === "." || segment === "..");
}
