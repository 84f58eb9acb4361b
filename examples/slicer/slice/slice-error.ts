/** Why a mesh cannot be sliced. */
export type SliceProblem =
  /** It reaches further than a layer's coordinates can say. */
  | "too_large"
  /** No layer's height lies within it. */
  | "too_flat"
  | "too_many_layers";

/** A mesh does not fit the layers that were asked for. */
export class SliceError extends Error {
  override readonly name = "SliceError";
  readonly code: SliceProblem;

  constructor(code: SliceProblem, message: string) {
    super(message);
    this.code = code;
  }
}
