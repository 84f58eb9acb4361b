import { JobFileError } from "../job-file-error.ts";

/** `code: message` of the error that the call ends with. Throws when it ends in any other way. */
export async function fileErrorOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof JobFileError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error("expected a JobFileError, and nothing was thrown");
}
