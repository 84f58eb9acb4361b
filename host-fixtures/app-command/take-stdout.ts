import { Console } from "node:console";

/**
 * Keeps standard output for the caller alone and returns its writer: what applications print goes to standard error from now on.
 * A logger that writes to file descriptor 1 by itself is out of reach.
 */
export function takeStdout(): (text: string) => Promise<void> {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  globalThis.console = new Console({ stdout: stderr, stderr }) as typeof console;
  stdout.on("error", () => undefined); // each write tells its own
  return (text) =>
    new Promise((resolve, reject) => {
      write(text, (error) => (error ? reject(error) : resolve()));
    });
}
