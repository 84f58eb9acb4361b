import type { JobSchema } from "../../configuration/job-schema.ts";
import { validateValue } from "../../configuration/validate-value.ts";
import type { JobCheckpointRecovery } from "../../provider/job-recovery.ts";
import { configurationLimits } from "../../submission/read-configuration.ts";
import type { AdmittedCheckpoint } from "./records/read-checkpoints.ts";

/**
 * The newest checkpoint, of these from the newest on, at which the provider can resume; its metadata is the present schema's output. One whose
 * metadata the schema refuses, or for which schema or provider throws, is passed over.
 */
export async function chooseCheckpoint(
  recovery: JobCheckpointRecovery<JobSchema>,
  checkpoints: readonly AdmittedCheckpoint[],
): Promise<AdmittedCheckpoint | undefined> {
  for (const checkpoint of checkpoints) {
    try {
      const validation = await validateValue(
        recovery.metadataSchema,
        checkpoint.metadata,
        configurationLimits,
      );
      if (validation.ok && recovery.compatible(validation.value) === true)
        return { ...checkpoint, metadata: validation.value };
    } catch {
      // Nobody can resume at what its own check cannot take.
    }
  }
  return undefined;
}
