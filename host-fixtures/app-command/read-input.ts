import { maxInputBytes } from "../app/validate-input.ts";
import { duplicateJsonKeys } from "../duplicate-json-keys.ts";
import { CommandFailure } from "./command-failure.ts";

/**
 * The JSON of a stream, opened and read to its end.
 *
 * @throws CommandFailure `invalid-input` for more than 1 MiB, or than `limitBytes`, for what is not JSON or holds a key twice; `cancelled` at the abort.
 */
export async function readInput(
  open: () => ReadableStream<Uint8Array>,
  signal: AbortSignal,
  limitBytes: number = maxInputBytes,
): Promise<unknown> {
  const text = await readText(open, signal, limitBytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own words quote the text.
    const found = text.trim() === "" ? "nothing" : "something else";
    throw invalid(`expected one JSON document, got ${found}`);
  }
  if (duplicateJsonKeys(text).length > 0) throw invalid("an object holds a key twice");
  return value;
}

async function readText(
  open: () => ReadableStream<Uint8Array>,
  signal: AbortSignal,
  limitBytes: number,
): Promise<string> {
  let reader;
  try {
    reader = open().getReader(); // Bun opens a file here
  } catch {
    throw unreadable();
  }
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw unreadable();
      });
      if (signal.aborted) throw new CommandFailure(1, "cancelled", "cancelled before anything was started");
      if (done) break;
      bytes += value.byteLength;
      if (bytes > limitBytes) throw invalid(`expected at most ${limitBytes} bytes, got more`);
      chunks.push(value);
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw invalid("expected UTF-8");
  }
}

function unreadable(): CommandFailure {
  return invalid("cannot be read");
}

function invalid(message: string): CommandFailure {
  return new CommandFailure(2, "invalid-input", `the input: ${message}`);
}
