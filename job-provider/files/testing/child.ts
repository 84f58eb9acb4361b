import { join } from "node:path";

/** A program of this folder in a process of its own. */
export interface Child extends AsyncDisposable {
  /** The next line that it prints; rejects when it ends before. */
  readonly line: () => Promise<string>;
  /** Ends its standard input: what such a program waits for before it goes on. */
  readonly go: () => void;
  readonly kill: () => Promise<void>;
  readonly isAlive: () => boolean;
  /** Waits for its end. Throws when it failed. */
  readonly done: () => Promise<void>;
}

/** Starts a program; disposing of it kills it. */
export function startChild(program: string, options: object): Child {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, program), JSON.stringify(options)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines = linesOf(child.stdout);
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return {
    kill,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    go: () => void child.stdin.end(),
    async line() {
      const { value } = await lines.next();
      if (value === undefined) throw new Error(`${program} ended before it printed a line`);
      return value;
    },
    async done() {
      const code = await child.exited;
      if (code !== 0) throw new Error(`${program} ended with ${code}`);
    },
    [Symbol.asyncDispose]: kill,
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string, void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
