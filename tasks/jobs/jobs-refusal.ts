import type { CallError } from "../../capability/index.ts";

/** A call of `lenso.jobs@1`, or of its signals, that brought no answer to work with. Holds no payload and no token. */
export class JobsRefusal extends Error {
  override readonly name = "JobsRefusal";
  /** A domain code of the operation, or the kind of the runtime failure. */
  readonly code: string;
  /** True when the capability itself answered. */
  readonly answered: boolean;

  constructor(operation: string, error: CallError<string>) {
    const code = codeOf(error);
    const detail = error.kind === "runtime" ? `: ${error.error.detail}` : "";
    super(`Jobs ${operation} answered ${code}${detail}`);
    this.code = code;
    this.answered = error.kind === "domain";
  }
}

/** The domain code of a refusal; undefined for a runtime failure, which says nothing about the job. */
export function domainCode(error: CallError<string>): string | undefined {
  return error.kind === "domain" ? codeOf(error) : undefined;
}

function codeOf(error: CallError<string>): string {
  if (error.kind === "runtime") return error.error.kind;
  return typeof error.error === "string" ? error.error : error.error.code;
}
