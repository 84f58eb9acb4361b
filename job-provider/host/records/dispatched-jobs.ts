import type { DispatchedTable } from "../../../tasks/jobs/records/dispatched-table.ts";
import type { JobSession } from "./job-session.ts";
import { openStates } from "./record-types.ts";

/** The jobs of a host, as what is carried by Jobs jobs. */
export function dispatchedJobs(session: JobSession): DispatchedTable {
  return {
    name: session.table("job"),
    owner: ["host_id", session.hostId],
    open: openStates,
    clock: session.clock,
    query: session.query,
  };
}
