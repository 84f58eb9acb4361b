/** What can be wrong with an STL file. */
export type StlProblem =
  /** It ends too early. */
  | "truncated"
  /** A binary file goes on after the triangles that it announces. */
  | "surplus"
  | "too_many_triangles"
  /** A coordinate is NaN, infinite, or too large for the 32 bits that the format has for it. */
  | "not_finite"
  /** A text is not what the format says. */
  | "syntax"
  | "empty";

/** The only error that reading STL ends with. The message tells the place and what was expected there, and no content. */
export class StlError extends Error {
  override readonly name = "StlError";
  readonly code: StlProblem;

  constructor(code: StlProblem, message: string) {
    super(message);
    this.code = code;
  }
}
