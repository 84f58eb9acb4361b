const explanations = {
  "invalid-options": "an option is not valid",
  closed: "the host is closed",
  unavailable: "the database of the host could not answer",
  "schema-unfit": "the schema of the host cannot be worked with",
  "store-failed": "the store of revisions or artifacts could not answer",
  "provider-failed": "a schema of the provider threw",
  "job-not-found": "the host keeps no such job",
} as const;

/** What a caller of a job host can act on. A code is never reused for another meaning. */
export type JobHostErrorCode = keyof typeof explanations;

/**
 * Any failure of a job host that is no refusal. The message is in words of ours, with the next step where one is known, so it is safe to show and
 * to log; what a driver, a store or a schema said is in `cause`.
 */
export class JobHostError extends Error {
  override readonly name = "JobHostError";
  readonly code: JobHostErrorCode;

  constructor(
    code: JobHostErrorCode,
    { advice, ...options }: ErrorOptions & { readonly advice?: string | undefined } = {},
  ) {
    super(`job host: ${explanations[code]}${advice === undefined ? "" : `: ${advice}`}`, options);
    this.code = code;
  }
}
