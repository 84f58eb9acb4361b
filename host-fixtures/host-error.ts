/** What can be wrong with a composition or an application, or with a look-up in it. A code never changes its meaning. */
export type HostErrorCode =
  | "invalid_composition"
  | "duplicate_instance"
  | "missing_instance"
  | "missing_plugin_factory"
  | "undeclared_requirement"
  | "missing_binding"
  | "ambiguous_binding"
  | "capability_mismatch"
  | "version_mismatch"
  | "dependency_cycle"
  | "invalid_plugin"
  | "duplicate_plugin"
  | "missing_plugin"
  | "setup_ended"
  | "app_stopped"
  | "invalid_operation"
  | "unknown_operation"
  | "duplicate_operation";

/** One thing that is wrong: its code, and a sentence with the place, what was expected and what arrived. */
export interface HostProblem {
  readonly code: HostErrorCode;
  readonly message: string;
}

/** A composition or an application that cannot be started, or is asked for what it lacks. `code` is the first problem's; `problems` has them all. */
export class HostError extends Error {
  override readonly name = "HostError";
  readonly code: HostErrorCode;
  readonly problems: readonly HostProblem[];

  constructor(first: HostProblem, ...others: readonly HostProblem[]) {
    const problems = [first, ...others];
    super(problems.map((problem) => `${problem.code}: ${problem.message}`).join("\n"));
    this.code = first.code;
    this.problems = problems;
  }
}
