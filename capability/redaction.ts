/** Under which the runtimes look for how an object prints. */
export const inspectCustom: unique symbol = Symbol.for("nodejs.util.inspect.custom") as never;

/** What stands in a printed form for a value that must not be seen. */
export const redacted = "[redacted]";

/**
 * Keeps the named fields out of `console.log` and `util.inspect` of this object, wherever it is nested. The fields stay
 * ordinary data for code and for JSON, which is how the object travels.
 */
export function hideSecrets<T extends object>(value: T, printedForm: (this: T) => object): T {
  // Hidden already, by this very form; any other may show more.
  if (Object.getOwnPropertyDescriptor(value, inspectCustom)?.value === printedForm) return value;
  Object.defineProperty(value, inspectCustom, { value: printedForm, enumerable: false, configurable: true });
  return value;
}

/** A printed form for {@link hideSecrets} that replaces the named fields and shows the others. */
export function withoutFields<T extends object>(
  ...fields: readonly (keyof T & string)[]
): (this: T) => object {
  return function printed(this: T): object {
    const shown = { ...this } as Record<string, unknown>;
    for (const field of fields) if (field in shown) shown[field] = redacted;
    return shown;
  };
}
