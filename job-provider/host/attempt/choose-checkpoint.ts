import type { RunnableJobProvider } from "../../provider/define-job-provider.ts";
import type { AdmittedCheckpoint } from "./records/read-checkpoints.ts";

/** The newest checkpoint, of these from the newest on, at which the provider can resume. One for which it throws is passed over. */
export function chooseCheckpoint(
  { recovery }: Pick<RunnableJobProvider, "recovery">,
  checkpoints: readonly AdmittedCheckpoint[],
): AdmittedCheckpoint | undefined {
  if (recovery.mode !== "checkpoint") return undefined;
  return checkpoints.find(({ metadata }) => {
    try {
      return recovery.compatible(metadata) === true;
    } catch {
      return false;
    }
  });
}
