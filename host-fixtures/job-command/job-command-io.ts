import type { JsonValue } from "../../capability/index.ts";
import type { CommandIo } from "../app-command/command-line.ts";

/** What the command has of the process that it runs in. */
export interface JobCommandIo extends CommandIo {
  /** Whether `err` goes to a terminal, on which a line can change in place. */
  readonly isTerminal: boolean;
}

/** What a command found, for a program and for a person. */
export interface JobAnswer {
  readonly data: JsonValue;
  readonly text: string;
}

/** An answer whose data is a value of the host's: interfaces of JSON members, which the compiler does not take for JSON by itself. */
export function answerOf(data: unknown, text: string): JobAnswer {
  return { data: data as JsonValue, text: `${text}\n` };
}
