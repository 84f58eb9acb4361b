import { createHash } from "node:crypto";

const known = new Map<string, string>();

/**
 * How queue and caller names stand in the tables: the first 8 bytes of the SHA-256 of the name, big-endian, top bit
 * cleared, as a decimal text. Frozen: stored rows depend on it. Meant for the few names of a configuration, which it remembers.
 */
export function nameHash(name: string): string {
  let hash = known.get(name);
  if (hash === undefined) {
    const digest = createHash("sha256").update(name).digest();
    hash = (digest.readBigUInt64BE(0) & 0x7fff_ffff_ffff_ffffn).toString();
    known.set(name, hash);
  }
  return hash;
}
