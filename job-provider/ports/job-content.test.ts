import { expect, test } from "bun:test";
import { digestOf } from "../canonical/digest.ts";
import { JobContentMismatch, verifyContent } from "./job-content.ts";

const content = { length: 6, digest: digestOf("abcdef") };

test("the very content passes, however it is cut, also when it is empty", async () => {
  for (const chunks of [["abcdef"], ["ab", "", "cdef"], ["a", "b", "c", "d", "e", "f"]])
    expect(await readAll(chunks, content)).toBe("abcdef");
  expect(await readAll([], { length: 0, digest: digestOf("") })).toBe("");
});

test.each([
  [["abcde"], "expected 6 bytes, got 5"],
  [["abcdef", "g"], "expected 6 bytes, got more"],
  [["abcdeg"], `expected ${content.digest}, got ${digestOf("abcdeg")}`],
])("%j is refused", async (chunks, message) => {
  const reading = readAll(chunks, content);
  await expect(reading).rejects.toBeInstanceOf(JobContentMismatch);
  await expect(reading).rejects.toThrow(message);
});

test("a stream without end is left at the first byte too many, and told so", async () => {
  let ended = false;
  async function* endless(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) yield new Uint8Array(4);
    } finally {
      ended = true;
    }
  }
  const read = async (): Promise<void> => {
    for await (const chunk of verifyContent(endless(), content)) expect(chunk).toHaveLength(4);
  };
  await expect(read()).rejects.toBeInstanceOf(JobContentMismatch);
  expect(ended).toBe(true);
});

async function readAll(chunks: readonly string[], expected: typeof content): Promise<string> {
  let text = "";
  for await (const chunk of verifyContent(streamOf(chunks), expected))
    text += new TextDecoder().decode(chunk);
  return text;
}

async function* streamOf(chunks: readonly string[]): AsyncGenerator<Uint8Array, void> {
  for (const chunk of chunks) yield new TextEncoder().encode(chunk);
}
