import { fileURLToPath } from "node:url";

/** The folder of the tiny application. */
export const appFolder: string = fileURLToPath(new URL("app", import.meta.url));

/** A real process of the command line, with the tiny application's trace on. */
export interface AppProcess {
  /** Writes to standard input. */
  send(text: string): Promise<void>;
  /** Writes the last of standard input. */
  end(text: string): Promise<void>;
  kill(signal: "SIGINT" | "SIGTERM"): void;
  /** Resolves once the process has printed this on standard error. */
  printed(text: string): Promise<void>;
  /** What it had printed when it ended by itself. */
  readonly ended: Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;
}

export function runAppProcess(
  program: "cli" | "mcp",
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): AppProcess {
  const file = fileURLToPath(new URL(`../app-command/${program}.ts`, import.meta.url));
  const child = Bun.spawn([process.execPath, file, ...args], {
    env: { ...process.env, APP_TRACE: "1", ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  let stderr = "";
  const waiting = new Set<() => void>();
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of child.stderr) {
      stderr += decoder.decode(bytes, { stream: true });
      for (const look of waiting) look();
    }
  })();
  return {
    async send(text) {
      await child.stdin.write(text);
      await child.stdin.flush();
    },
    async end(text) {
      await child.stdin.write(text);
      await child.stdin.end();
    },
    kill: (signal) => child.kill(signal),
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => void (stderr.includes(text) && resolve());
        waiting.add(look);
        look();
        void reading.then(() => reject(new Error(`ended without printing "${text}":\n${stderr}`)));
      }),
    ended: Promise.all([child.exited, child.stdout.text(), reading]).then(([exitCode, stdout]) => ({
      exitCode,
      stdout,
      stderr,
    })),
  };
}

/** The trace in what a process printed. */
export function eventsIn(stderr: string): string[] {
  return Array.from(stderr.matchAll(/^event: (.+)$/gm), ([, event = ""]) => event);
}
