/** What a database URL looks like, for messages that must not show the one that arrived. */
export const expectedDatabaseUrl =
  "postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of user and password percent-encoded";

/**
 * Tells whether both clients can take a text as a database URL. They quote a malformed one in their errors, so it is
 * checked before it reaches them. One host over TCP: neither a socket's folder nor a list of hosts.
 */
export function isDatabaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (!/^postgres(ql)?:$/.test(url.protocol)) return false;
  if (!/^[^,\s]+$/.test(url.hostname) || !/^\/[^/]+$/.test(url.pathname) || url.hash !== "") return false;
  return [url.username, url.password, url.pathname].every(decodes);
}

function decodes(part: string): boolean {
  try {
    return !decodeURIComponent(part).includes("\0");
  } catch {
    return false;
  }
}
