import type { JobAttemptServices } from "../../provider/attempt-services.ts";
import type { AttemptDeps } from "./attempt-deps.ts";
import { JobAttemptOver } from "./attempt-over.ts";
import { checkProgress } from "./check-progress.ts";
import { latestOnly } from "./latest-only.ts";
import { keepProgress } from "./records/keep-progress.ts";

/** The progress of one attempt. */
export interface ProgressReporter {
  readonly reportProgress: JobAttemptServices["reportProgress"];
  /** Keeps the update that waits for its turn. Never rejects. */
  flush(): Promise<void>;
}

/** At most so often is progress kept, in ms: nobody reads faster. */
const everyMs = 250;

/** Keeps the latest progress. Trouble with the database is told to the host and never disturbs the provider. */
export function createProgressReporter(
  deps: Pick<AttemptDeps, "fence" | "gate" | "records" | "trouble">,
): ProgressReporter {
  const { fence, gate, records, trouble } = deps;
  const latest = latestOnly<ReturnType<typeof checkProgress>>(async (update) => {
    let kept: boolean;
    try {
      kept = await keepProgress(records, fence, update);
      trouble.ends("progress");
    } catch (error) {
      return trouble.begins("progress", error);
    }
    if (!kept) gate.lose();
  }, everyMs);
  return {
    reportProgress: (update) =>
      gate.run(async () => {
        await latest.put(checkProgress(update));
      }),
    async flush() {
      await latest.flush().catch(ignoreOver);
    },
  };
}

function ignoreOver(error: unknown): void {
  if (!(error instanceof JobAttemptOver)) throw error;
}
