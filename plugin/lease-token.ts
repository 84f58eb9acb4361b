import { createHash } from "node:crypto";

const prefix = "job_lease_";

/** `job_lease_` and 43 base64url characters for 32 random bytes. */
export function formatLeaseToken(random: Uint8Array): string {
  return prefix + Buffer.from(random.buffer, random.byteOffset, random.byteLength).toString("base64url");
}

/** SHA-256 of a well-formed token as 64 hex digits, which is all that is ever stored of it; undefined when it is malformed. */
export function hashLeaseToken(token: string): string | undefined {
  if (!/^job_lease_[A-Za-z0-9_-]{43}$/.test(token)) return undefined;
  const bytes = Buffer.from(token.slice(prefix.length), "base64url");
  // The last character carries 4 bits only; any other spelling of the same bytes is not the token that was handed out.
  if (bytes.toString("base64url") !== token.slice(prefix.length)) return undefined;
  return createHash("sha256").update(bytes).digest("hex");
}
