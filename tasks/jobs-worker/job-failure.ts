/**
 * Thrown by a handler to decide how its job fails: the stored code, and whether another attempt may help.
 *
 * @throws TypeError for a code that cannot be stored, or that only Jobs itself may give.
 * @example
 * throw new JobFailure("mailbox_gone", { retryable: false });
 */
export class JobFailure extends Error {
  override readonly name = "JobFailure";
  /** 1..128 of `A-Z a-z 0-9 . _ - : /`; stored and shown by `inspect`, so nothing secret belongs in it. */
  readonly code: string;
  readonly retryable: boolean;

  constructor(code: string, options: ErrorOptions & { readonly retryable?: boolean } = {}) {
    if (!/^[A-Za-z0-9._:/-]{1,128}$/.test(code))
      throw new TypeError("a failure code is 1..128 of A-Z a-z 0-9 . _ - : /");
    if (code === "lease_expired" || code === "attempts_exhausted")
      throw new TypeError(`the failure code ${code} belongs to Jobs itself`);
    super(code, options);
    this.code = code;
    this.retryable = options.retryable ?? true;
  }
}
