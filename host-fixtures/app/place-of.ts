/** A place in a document, such as `$.rows[0].amount`. A key that is not like a field's name may be somebody's data and is not shown. */
export function placeOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((place, key) => {
    if (typeof key === "number") return `${place}[${key}]`;
    const name = typeof key === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,31}$/.test(key) ? key : "(key)";
    return `${place}.${name}`;
  }, "$");
}
