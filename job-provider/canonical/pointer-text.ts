/** The keys from the root to a place in a JSON value. */
export type PathTokens = readonly string[];

/** Ends with a TypeError that names the place by its JSON pointer, and the rule. @throws TypeError always */
export function refuse(tokens: PathTokens, rule: string): never {
  throw new TypeError(`${shownPlace(tokens)}: ${rule}`);
}

/** The JSON pointer (RFC 6901) of a place. The root's is empty. */
export function pointerText(tokens: PathTokens): string {
  return tokens.map((token) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** A key this long or longer is somebody's data, not a field's name. */
const longestShown = 128;

/** The pointer in a message: bounded, printable, and a word where the pointer would be empty. */
export function shownPlace(tokens: PathTokens): string {
  if (tokens.length === 0) return "the value";
  const start = tokens.slice(0, 24).map(shownToken);
  return `${pointerText(start)}${tokens.length > 24 ? `/(${tokens.length - 24} more keys)` : ""}`;
}

function shownToken(token: string): string {
  if (token.length > longestShown) return `(key of ${token.length} characters)`;
  return token.toWellFormed().replace(/\p{Cc}/gu, "\uFFFD");
}
