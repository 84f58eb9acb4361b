import { join } from "node:path";
import { codeBlockAfter } from "./code-blocks.ts";
import { root } from "./repository-files.ts";

/** A program of a walk-through that goes on in the background. */
export interface WalkProgram {
  readonly child: Bun.Subprocess<"pipe" | "ignore", "pipe", "pipe">;
  /** What it has printed so far, errors among it. */
  text(): string;
  /** Resolves once it has printed this; rejects when it ends without. */
  printed(wanted: string): Promise<void>;
}

/** A shell that stays: what one block exports, the next one has. A command that fails ends it. */
export interface WalkTerminal extends WalkProgram {
  /** Runs these blocks. @returns what they print */
  paste(names: readonly string[]): Promise<string>;
}

/**
 * The commands of a page, as a reader pastes them: each a `sh` block after a marker such as `<!-- walk: set up -->`.
 *
 * @param env what differs from this process's environment; undefined takes a variable away
 */
export function openWalkThrough(
  page: string,
  env: Readonly<Record<string, string | undefined>>,
): { startBlock(name: string): WalkProgram; startTerminal(): WalkTerminal } {
  const block = (name: string): string => {
    const code = codeBlockAfter(page, `<!-- walk: ${name} -->`, "sh");
    if (code === undefined) throw new Error(`the page has no block "${name}"`);
    return code;
  };
  const start = (command: string[], stdin: "pipe" | "ignore"): WalkProgram => {
    const path = `${join(root, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`;
    const child = Bun.spawn(command, {
      cwd: root,
      env: { ...process.env, PATH: path, ...env },
      stdin,
      stdout: "pipe",
      stderr: "pipe",
    });
    return { child, ...listen(child) };
  };
  return {
    /** A block that goes on until it is told to stop; `exec`, so that the signal reaches its last command and not the shell. */
    startBlock(name) {
      const lines = block(name).trim().split("\n");
      const last = lines.findLastIndex((_, index) => !lines[index - 1]?.endsWith("\\"));
      const script = lines.map((line, index) => (index === last ? `exec ${line}` : line)).join("\n");
      return start(["bash", "-ec", script], "ignore");
    },
    startTerminal() {
      const terminal = start(["bash", "-eo", "pipefail"], "pipe");
      let pasted = 0;
      return {
        ...terminal,
        async paste(names) {
          const from = terminal.text().length;
          pasted += 1;
          // Braces, so that no command reads what is to be run next; and what they print shows that all of it was.
          const script = `{\n${names.map(block).join("\n")}\n} </dev/null\necho "pasted ${pasted}"\n`;
          const stdin = terminal.child.stdin as Bun.FileSink;
          await stdin.write(script);
          await stdin.flush();
          await terminal.printed(`pasted ${pasted}\n`);
          return terminal.text().slice(from);
        },
      };
    },
  };
}

function listen({ stdout, stderr }: WalkProgram["child"]): Pick<WalkProgram, "text" | "printed"> {
  let text = "";
  const looks = new Set<() => void>();
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      text += decoder.decode(bytes, { stream: true });
      for (const look of looks) look();
    }
  };
  const reading = Promise.all([read(stdout), read(stderr)]);
  return {
    text: () => text,
    printed: (wanted) =>
      new Promise<void>((resolve, reject) => {
        const look = (): void => void (text.includes(wanted) && resolve());
        looks.add(look);
        look();
        void reading.then(() => reject(new Error(`it ended without printing ${wanted}:\n${text}`)));
      }),
  };
}
