import { createHash } from "node:crypto";

/** The NOTIFY channel of a schema: a channel is shared by the whole database and its name is short. */
export function wakeChannel(schema: string): string {
  return `lenso_jobs_${createHash("sha256").update(schema).digest("hex").slice(0, 24)}`;
}
