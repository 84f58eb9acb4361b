import { SliceError } from "../slice/slice-error.ts";
import { StlError } from "../stl/stl-error.ts";

/** Why a job cannot be done, whoever tries it: the model, or what was selected. */
export class ModelRefused extends Error {
  override readonly name = "ModelRefused";
}

/** Whether an error is about the job's model, so that its message belongs into the job's log. */
export function isModelProblem(error: unknown): error is ModelRefused | SliceError | StlError {
  return error instanceof ModelRefused || error instanceof SliceError || error instanceof StlError;
}
