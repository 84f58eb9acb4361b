/** What an advice can name beside the error. */
export interface DatabaseHints {
  /** Host, port and name of the database, from {@link placeOf}. */
  readonly place?: string | undefined;
  /** What gives a role the rights that it needs. */
  readonly grants: string;
}

/** The next step after an error of a database, in words of ours: nothing of the server's text. Undefined when we know none. */
export function adviseOnDatabase(error: unknown, { place, grants }: DatabaseHints): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (typeof code !== "string" || !/^[A-Z0-9_]{4,40}$/.test(code)) return undefined;
  const database = place === undefined ? "the database" : `the database ${place}`;
  if (code === "42501") return `the role lacks a right (${code}): ${grants}`;
  if (/^28...$/.test(code)) return `${database} refused the user or the password (${code})`;
  if (code === "3D000") return `${database} does not exist (${code})`;
  // Five letters with an E before them are the system's word for a broken link, as EPIPE; other five characters are the server's.
  if (/^(?!E[A-Z]{4})[0-9A-Z]{5}$/.test(code)) return undefined;
  return `${database} cannot be reached (${code}): check host and port, and that the server runs`;
}

/** Where a URL leads, as `HOST:PORT/DATABASE`: neither user nor password. Undefined for what is no such URL. */
export function placeOf(connectionString: string | undefined): string | undefined {
  if (connectionString === undefined || !URL.canParse(connectionString)) return undefined;
  const { hostname, port, pathname } = new URL(connectionString);
  return hostname === "" ? undefined : `${hostname}:${port === "" ? "5432" : port}${pathname}`;
}
