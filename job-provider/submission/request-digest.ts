import { digestJson } from "../canonical/digest.ts";
import type { JobSubmitInput } from "./job-submit-input.ts";

/**
 * What a request asks for, as a digest over provider, input and configuration: two requests under one submission key are the same request
 * exactly when their digests are equal. Key and signal do not count.
 */
export function requestDigest({ provider, input, configuration }: JobSubmitInput): string {
  return digestJson({ provider, input, configuration });
}
