/** Where a database URL leads, as `HOST:PORT/DATABASE`: what an operator needs to see, without user and password. */
export function databasePlace(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname}:${port === "" ? "5432" : port}${pathname}`;
}
