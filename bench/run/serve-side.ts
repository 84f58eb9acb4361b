// A side in a process of its own, under the runtime that its authors support. Asked on stdin, answers on stdout.
import { createInterface } from "node:readline";
import type { OpenSide, Side } from "../sides/side.ts";
import { answersOf } from "./answers-of.ts";
import type { Question } from "./protocol.ts";

// Ctrl-C at the terminal reaches this process too, but it ends when the measuring one closes its stdin.
process.on("SIGINT", () => undefined);

// Stdout is for answers alone.
console.log = console.error;
console.info = console.error;

const say = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
const now = (): number => performance.timeOrigin + performance.now();
let answers: ReturnType<typeof answersOf> | undefined;

async function answer(question: Question, ask: never): Promise<unknown> {
  if (question === "clock") return now();
  if (question === "open") {
    const { file, ...options } = ask as { file: string } & Parameters<OpenSide>[0];
    const { open } = (await import(`../sides/${file}.ts`)) as { open: OpenSide };
    const side: Side = await open(options);
    answers = answersOf(side, { now, say });
    return null;
  }
  if (answers === undefined) throw new Error("not open yet");
  return answers[question](ask);
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, question, ask } = JSON.parse(line) as { id: number; question: Question; ask: never };
    answer(question, ask).then(
      (value) => say({ id, value: value ?? null }),
      (error: unknown) =>
        say({ id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  })
  .on("close", () => process.exit());
