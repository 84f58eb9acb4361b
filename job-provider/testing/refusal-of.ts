/** The message of the TypeError that the call ends with. Throws when it ends in any other way. */
export function refusalOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
  throw new Error("expected a TypeError, and nothing was thrown");
}
