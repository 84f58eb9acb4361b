import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";

/** `sha256:` and 64 lowercase hexadecimal digits: the SHA-256 of bytes, or of a text as UTF-8. */
export function digestOf(content: string | Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** The digest of a value's canonical JSON, the same for every spelling of it. @throws TypeError as {@link canonicalJson} */
export function digestJson(value: unknown): string {
  return digestOf(canonicalJson(value));
}

/** True for a text in the form that {@link digestOf} gives. */
export function isDigest(value: unknown): value is string {
  return typeof value === "string" && /^sha256:[0-9a-f]{64}$/.test(value);
}
