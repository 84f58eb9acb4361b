import type { StoredCommand } from "../records/read-command.ts";
import { type JobCallOutcome, refuseCall } from "./job-call-outcome.ts";

/** What is known of a command that has ended; undefined while it runs. */
export function recordedOutcome({ end }: StoredCommand): JobCallOutcome | undefined {
  switch (end.state) {
    case "running":
      return undefined;
    case "done":
      return Object.freeze({ ok: true, value: end.value });
    case "failed":
      return refuseCall(end.code);
    case "unknown":
      return refuseCall("COMMAND_OUTCOME_UNKNOWN");
  }
}
