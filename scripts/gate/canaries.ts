/**
 * What a test plants where it must never come out: a secret's text, a payload's text, a lease token. Tests write it in two
 * parts ("CANARY" + "-…"), so that the source lines that a failure prints do not count.
 */
const canary = /CANARY-[A-Za-z0-9]{8,}|job_lease_[A-Za-z0-9_-]{43}/g;

export function containsCanary(line: string): boolean {
  return line.search(canary) >= 0;
}

/** The line without its canaries: only their beginning stays, to tell what it was. */
export function redactCanaries(line: string): string {
  return line.replace(canary, (found) => `${found.slice(0, found.startsWith("job_") ? 10 : 7)}[redacted]`);
}
