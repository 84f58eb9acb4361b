import type { JobSession } from "./job-session.ts";

/** The job that holds a submission key. */
export interface FoundSubmission {
  readonly id: string;
  readonly requestDigest: string;
}

/** What a submission key was used for; undefined when it is free. */
export async function findSubmission(
  session: JobSession,
  keyDigest: string,
): Promise<FoundSubmission | undefined> {
  const text = `select id::text as id, request_digest as digest from ${session.table("job")}
    where host_id = $1::text and key_digest = decode($2::text, 'hex')`;
  const [row] = await session.query(text, [session.hostId, keyDigest]);
  return row === undefined ? undefined : { id: row["id"] as string, requestDigest: row["digest"] as string };
}
