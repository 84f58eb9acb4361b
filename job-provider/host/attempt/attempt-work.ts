import type { JsonValue } from "../../../capability/index.ts";
import type { JobInput } from "../../submission/job-submit-input.ts";
import type { HostedProvider } from "../host-parts.ts";
import type { Fence } from "../records/record-types.ts";

/** What a started attempt works on. */
export interface AttemptWork {
  readonly fence: Fence;
  /** Counted from 1. */
  readonly attempt: number;
  readonly provider: HostedProvider;
  /** Deeply frozen, as the configuration. */
  readonly input: JobInput;
  /** The effective one. */
  readonly configuration: JsonValue;
}
