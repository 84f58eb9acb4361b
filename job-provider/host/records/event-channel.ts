import { createHash } from "node:crypto";

/** Where the database notifies of jobs that have new events: their ids, parted by blanks, or an empty text for too many. As the migration has it. */
export function eventChannel(schema: string): string {
  return `lenso_job_host_${createHash("sha256").update(schema).digest("hex").slice(0, 16)}`;
}
