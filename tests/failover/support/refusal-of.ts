/** The message of a start that must be refused. One that succeeds after all is stopped, and fails the test. */
export async function refusalOf(start: () => Promise<{ stop(): Promise<void> }>): Promise<string> {
  const started = await start().catch((error: unknown) => error as Error);
  if (started instanceof Error) return started.message;
  await started.stop();
  throw new Error("it started, and should have been refused");
}
