import { CommandFailure } from "../app-command/command-failure.ts";
import type { JobCommandIo } from "./job-command-io.ts";

/** Where a JSON document comes from. */
export interface InputSource {
  readonly stdin?: boolean;
  /** A file's path. */
  readonly input?: string;
}

/** How to open the document; undefined when none was named. @throws CommandFailure `invalid-usage` for both at once */
export function inputStream(
  { stdin, input }: InputSource,
  io: JobCommandIo,
): (() => ReadableStream<Uint8Array>) | undefined {
  if (stdin === true && input !== undefined)
    throw new CommandFailure(2, "invalid-usage", "expected one of --stdin and --input FILE, not both");
  if (stdin === true) return io.stdin;
  return input === undefined ? undefined : () => Bun.file(input).stream();
}
