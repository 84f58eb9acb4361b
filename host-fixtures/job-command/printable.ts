/** A text for one line of a terminal: whatever could move its cursor, change its colours or turn its direction becomes `�`. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, "\uFFFD");
}
