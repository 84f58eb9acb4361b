import { hash, randomBytes } from "node:crypto";

const prefix = "job_lease_";
/** Used up within one call: buffers are a good part of what a job leaves to the garbage collector. */
const bytes = Buffer.alloc(32);

/** `job_lease_` and 43 base64url characters for 32 random bytes. */
export function formatLeaseToken(random: Uint8Array): string {
  bytes.set(random);
  return prefix + bytes.toString("base64url");
}

/** A lease token and what is stored of it. */
export interface LeaseToken {
  readonly text: string;
  /** SHA-256 of the bytes as 64 hex digits. */
  readonly hash: string;
}

/** New tokens, from the system's random source. */
export function newLeaseTokens(count: number): LeaseToken[] {
  const random = randomBytes(32 * count);
  return Array.from({ length: count }, (_, index) => {
    random.copy(bytes, 0, 32 * index);
    return { text: prefix + bytes.toString("base64url"), hash: hash("sha256", bytes, "hex") };
  });
}

/** The last character carries 4 bits only; any other spelling of the same bytes is not the token that was handed out. */
const pattern = /^job_lease_[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/** SHA-256 of a well-formed token as 64 hex digits, which is all that is ever stored of it; undefined when it is malformed. */
export function hashLeaseToken(token: string): string | undefined {
  if (!pattern.test(token)) return undefined;
  bytes.write(token.slice(prefix.length), "base64url");
  return hash("sha256", bytes, "hex");
}
