import { digestJson } from "../canonical/digest.ts";
import type { JobEffectiveConfiguration } from "../lifecycle/job-snapshot.ts";
import type { JobConfigurationInput } from "../submission/job-submit-input.ts";
import type { JobRefusalCode, JobValidationIssue } from "../submission/job-submit-outcome.ts";
import { configurationLimits } from "../submission/read-configuration.ts";
import type { JobConfigurationDefinition } from "./define-configuration.ts";
import { fillDefaults } from "./fill-defaults.ts";
import { validateValue } from "./validate-value.ts";

/** What is to be admitted, and under which manifest. */
export interface JobConfigurationRequest {
  readonly definition: JobConfigurationDefinition;
  /** The provider's manifest digest as it is now. */
  readonly providerManifestDigest: string;
  /** The one that the caller saw. */
  readonly seenManifestDigest: string;
  /** As `parseJobSubmitInput` gives it. */
  readonly configuration: JobConfigurationInput;
}

/** The configuration with which the job will run, or why there is none. */
export type JobConfigurationAdmission =
  | { readonly ok: true; readonly configuration: JobEffectiveConfiguration }
  | {
      readonly ok: false;
      readonly code: Extract<
        JobRefusalCode,
        "PROVIDER_MANIFEST_CHANGED" | "CONFIGURATION_INVALID" | "EFFECTIVE_DIGEST_MISMATCH"
      >;
      readonly issues?: readonly JobValidationIssue[];
    };

/**
 * Makes a configuration effective: the caller must have seen the manifest that is in force, defaults fill what it does not mark as supplied,
 * and the schema has the last word. Deeply frozen.
 *
 * @throws whatever the schema throws
 */
export async function admitConfiguration(
  request: JobConfigurationRequest,
): Promise<JobConfigurationAdmission> {
  const { definition, providerManifestDigest, seenManifestDigest, configuration } = request;
  if (seenManifestDigest !== providerManifestDigest) return { ok: false, code: "PROVIDER_MANIFEST_CHANGED" };
  const { value, explicitPointers, expectedEffectiveDigest } = configuration;
  const filled = fillDefaults(value, definition.manifest.defaults, explicitPointers);
  const validation = await validateValue(definition.schema, filled, configurationLimits);
  if (!validation.ok) return { ok: false, code: "CONFIGURATION_INVALID", issues: validation.issues };
  const digest = digestJson(validation.value);
  if (expectedEffectiveDigest !== undefined && expectedEffectiveDigest !== digest)
    return { ok: false, code: "EFFECTIVE_DIGEST_MISMATCH" };
  return {
    ok: true,
    configuration: Object.freeze({ value: validation.value, digest, providerManifestDigest }),
  };
}
