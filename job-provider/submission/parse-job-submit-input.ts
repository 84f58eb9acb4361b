import { refuse } from "../canonical/pointer-text.ts";
import { type Member, readIdentity, readRecord } from "../canonical/read-record.ts";
import type { JobSubmitInput } from "./job-submit-input.ts";
import { readConfiguration } from "./read-configuration.ts";
import { readJobInput, readProviderIdentity } from "./read-parts.ts";

/**
 * A request for a job, owned and deeply frozen: what the caller does to its objects afterwards has no effect. Only own, enumerable data
 * properties are read, of plain objects and arrays with closed keys; no code of the value runs, and sizes are checked first. The signal is
 * the caller's own, and is not frozen.
 *
 * @throws TypeError naming the JSON pointer of what is wrong, and never its value
 * @example
 * const request = parseJobSubmitInput({
 *   provider: { id: "acme/mesh", version: "2.1.0", manifestDigest },
 *   input: { revision: { authorityId, workspaceId, revisionId, treeDigest }, paths: ["/case.json"] },
 *   configuration: { value: { cells: 1000, seed: 0 }, explicitPointers: ["/cells"] },
 *   submissionKey: "order-17/mesh",
 * });
 */
export function parseJobSubmitInput(value: unknown): JobSubmitInput {
  const { provider, input, configuration, submissionKey, signal } = readRecord(
    { value, at: [] },
    ["provider", "input", "configuration", "submissionKey"],
    ["signal"],
  );
  return Object.freeze({
    provider: readProviderIdentity(provider),
    input: readJobInput(input),
    configuration: readConfiguration(configuration),
    submissionKey: readIdentity(submissionKey),
    ...(signal && { signal: readSignal(signal) }),
  });
}

/** The platform's own getter knows its signals, whatever a prototype pretends. It throws for anything else. */
const abortedOf = Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted")?.get;

/** A signal of the platform. @throws TypeError naming the place */
export function readSignal({ value, at }: Member): AbortSignal {
  try {
    if (typeof abortedOf?.call(value) === "boolean") return value as AbortSignal;
  } catch {
    // Told below, with the place.
  }
  return refuse(at, "expected an AbortSignal");
}
