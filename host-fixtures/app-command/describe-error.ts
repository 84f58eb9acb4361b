/**
 * What somebody threw, with its causes, in one line of at most 600 characters for the person who runs the command. URLs are cut down to
 * their scheme, and values of environment variables whose names speak of secrets are taken out.
 */
export function describeError(
  error: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const line = withoutSecrets(parts(error, 5).join(": "), environment).replaceAll(/\s+/g, " ").trim();
  return line.length > 600 ? `${line.slice(0, 600)}…` : line;
}

function parts(error: unknown, depth: number): string[] {
  if (!(error instanceof Error)) {
    // What Bun throws for a module that it cannot parse or find is no Error.
    const message = (error as { readonly message?: unknown } | null | undefined)?.message;
    return [typeof message === "string" ? message : `what was thrown is no Error but ${typeof error}`];
  }
  const { name, message, cause } = error;
  const own = message === "" ? name : `${name}: ${message}`;
  if (depth === 0) return [own];
  const several =
    error instanceof AggregateError ? error.errors.flatMap((each) => parts(each, depth - 1)) : [];
  return [own, ...several, ...(cause === undefined ? [] : parts(cause, depth - 1))];
}

function withoutSecrets(text: string, environment: Readonly<Record<string, string | undefined>>): string {
  let hidden = text;
  for (const [name, value] of Object.entries(environment)) {
    if (
      value !== undefined &&
      value.length >= 6 &&
      /url|secret|token|password|key|session|credential/i.test(name)
    )
      hidden = hidden.replaceAll(value, hiddenText);
  }
  return hidden
    .replaceAll(/\b([a-z][a-z0-9+.-]*):\/\/[^\s"'`<>]*/gi, `$1://${hiddenText}`)
    .replaceAll(/\b(password|secret|token)(\s*[=:]\s*)[^\s,;]+/gi, `$1$2${hiddenText}`);
}

const hiddenText = "[hidden]";
