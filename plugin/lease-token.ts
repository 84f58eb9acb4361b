import { hash } from "node:crypto";

const prefix = "job_lease_";

/** `job_lease_` and 43 base64url characters for 32 random bytes. */
export function formatLeaseToken(random: Uint8Array): string {
  return prefix + Buffer.from(random.buffer, random.byteOffset, random.byteLength).toString("base64url");
}

/** The last character carries 4 bits only; any other spelling of the same bytes is not the token that was handed out. */
const pattern = /^job_lease_[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/** SHA-256 of a well-formed token as 64 hex digits, which is all that is ever stored of it; undefined when it is malformed. */
export function hashLeaseToken(token: string): string | undefined {
  if (!pattern.test(token)) return undefined;
  return hash("sha256", Buffer.from(token.slice(prefix.length), "base64url"), "hex");
}
