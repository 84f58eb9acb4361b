/** True for 1..max characters of `A-Z a-z 0-9 . _ - : /`, the characters of every name on the wire. */
export function isName(text: string, max: number): boolean {
  return text.length <= max && /^[A-Za-z0-9._:/-]+$/.test(text);
}
