/** The code of a {@link DatabaseError} when a client takes no such URL, or not with those options. No connection was tried. */
export const urlRefused = "URL_REFUSED";

/**
 * A refusal of PostgreSQL or of the connection to it. Carries the SQLSTATE (or a short connection code) only: the server's
 * own text may quote keys, payloads or a password, so it stays behind `serverMessage`, which nothing prints by itself.
 */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  /** A SQLSTATE, which {@link isSqlState} tells, or a connection code such as `ECONNREFUSED`. */
  readonly code: string;
  readonly #serverMessage: string;

  constructor(code: string, serverMessage: string) {
    super(`PostgreSQL said ${code}`);
    this.code = code;
    this.#serverMessage = serverMessage;
  }

  /** The primary message, for an operator's command that sends no payload. */
  get serverMessage(): string {
    return this.#serverMessage;
  }
}

/**
 * Whether the server itself refused, rather than the connection to it: SQLSTATEs have five characters. So have some of the system's words for a
 * broken link, such as `EPIPE`; no SQLSTATE is an E and four letters.
 */
export function isSqlState(code: string): boolean {
  return /^(?!E[A-Z]{4})[0-9A-Z]{5}$/.test(code);
}
