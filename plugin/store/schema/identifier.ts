/** Names a schema that a Jobs Instance may own: the configuration's rule. The reserved ones belong to PostgreSQL or to everybody. */
export function isSchemaName(name: string): boolean {
  return /^(?!pg_|public$|information_schema$)[a-z][a-z0-9_]{0,62}$/.test(name);
}

/** Tells whether a role of this name can be given grants: `public`, `none` and `pg_…` mean something else even when quoted. */
export function isRoleName(name: string): boolean {
  const bytes = Buffer.byteLength(name);
  return (
    bytes >= 1 &&
    bytes <= 63 &&
    !/\p{Cc}/u.test(name) &&
    !/^(public|none|pg_.*)$/.test(name) &&
    name.isWellFormed()
  );
}

/** An identifier that PostgreSQL takes as it is: reserved words, capitals and quotes included. */
export function quoteIdentifier(name: string): string {
  if (name === "" || name.includes("\0"))
    throw new Error("an identifier has at least one character and no U+0000");
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text constant, for scripts that an operator reads and that therefore have no parameters. */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
