/** A PostgreSQL array of numbers as a text, for `$1::text::bigint[]`. */
export function numberArray(values: readonly (string | number)[]): string {
  return `{${values.join(",")}}`;
}

/** A PostgreSQL array of texts as a text, for `$1::text::text[]`. Values hold no U+0000: the contract refuses it. */
export function textArray(values: readonly string[]): string {
  return values.length === 0 ? "{}" : `{"${values.map(escapeElement).join('","')}"}`;
}

/** A PostgreSQL array of byte strings as a text, from hex digits, for `$1::text::bytea[]`. */
export function bytesArray(hex: readonly string[]): string {
  return hex.length === 0 ? "{}" : `{"\\\\x${hex.join('","\\\\x')}"}`;
}

function escapeElement(text: string): string {
  return text.replace(/["\\]/g, "\\$&");
}
