/**
 * What an operation's method throws when its caller may know why: code and message reach the caller as they are, so neither may
 * hold a secret or another caller's data. Anything else that is thrown reaches the caller as `operation-failed` alone.
 */
export class OperationError extends Error {
  override readonly name = "OperationError";
  /** `^[a-z][a-z0-9-]{0,63}$`. Stable: a code is never reused for another meaning. */
  readonly code: string;

  /** @throws TypeError when the code has another form. */
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    if (!/^[a-z][a-z0-9-]{0,63}$/.test(code))
      throw new TypeError("OperationError: expected a code like ^[a-z][a-z0-9-]{0,63}$");
    this.code = code;
  }
}
