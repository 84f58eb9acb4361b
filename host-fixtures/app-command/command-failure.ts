/** Whose fault a failed command is, as its exit code: 1 the run's, 2 the input's, 3 nothing to run was found. */
export type FailureExit = 1 | 2 | 3;

/** Why a command did nothing, or not all. Code and message are for whoever ran it. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly code: string;
  readonly exitCode: FailureExit;

  constructor(exitCode: FailureExit, code: string, message: string) {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
  }
}
