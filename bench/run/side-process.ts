import { existsSync } from "node:fs";
import { join } from "node:path";
import type { SideOptions } from "../sides/side.ts";
import type { Answer, Question, Questions, Told, Usage } from "./protocol.ts";

/** A side in a process of its own. */
export class SideProcess {
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #name: string;
  #lastId = 0;
  #offsetMs = 0;
  /** Called with what the side says by itself, in this process's time. */
  onTold: ((told: Told) => void) | undefined;

  private constructor(name: string, command: readonly string[]) {
    this.#name = name;
    this.#child = Bun.spawn([...command, join(import.meta.dir, "serve-side.ts")], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
      env: { ...process.env, NODE_NO_WARNINGS: "1", NO_LOG_SUCCESS: "1" },
    });
    void this.#listen();
  }

  /** Starts the process and opens the side. @throws Error when it cannot be opened; the process has ended then. */
  static async open(
    name: string,
    runtime: "bun" | "node",
    options: SideOptions & { readonly file: string },
  ): Promise<SideProcess> {
    const side = new SideProcess(name, runtime === "bun" ? [process.execPath] : [nodeProgram()]);
    try {
      await side.#measureOffset();
      await side.ask("open", options);
      return side;
    } catch (error) {
      side.#child.kill();
      throw error;
    }
  }

  /** @throws Error with what went wrong in the side's process. */
  async ask<Q extends Question>(question: Q, ask: Questions[Q]["ask"]): Promise<Questions[Q]["answer"]> {
    this.#lastId += 1;
    const asked = Promise.withResolvers<unknown>();
    this.#asked.set(this.#lastId, asked);
    void this.#child.stdin.write(`${JSON.stringify({ id: this.#lastId, question, ask })}\n`);
    await this.#child.stdin.flush();
    return (await asked.promise) as Questions[Q]["answer"];
  }

  /** A time that the side gave, in this process's time. */
  here(at: number): number {
    return at - this.#offsetMs;
  }

  usage(): Promise<Usage> {
    return this.ask("usage", null);
  }

  /** Ends it without asking: its side may be in the middle of anything. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }

  /** Closes the side and ends its process. Safe after `kill`. */
  async close(): Promise<void> {
    if (this.#child.killed) return;
    const stuck = setTimeout(() => this.#child.kill("SIGKILL"), 20_000);
    await this.ask("close", null).catch((error: unknown) => console.error(`${this.#name}: ${String(error)}`));
    await this.#child.stdin.end();
    await this.#child.exited;
    clearTimeout(stuck);
  }

  async #listen(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const bytes of this.#child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#hear(JSON.parse(line) as Answer | Told);
    }
    for (const asked of this.#asked.values()) asked.reject(new Error(`${this.#name}: its process ended`));
    this.#asked.clear();
  }

  #hear(message: Answer | Told): void {
    if ("event" in message) {
      this.onTold?.({ ...message, at: this.here(message.at) });
      return;
    }
    const asked = this.#asked.get(message.id);
    this.#asked.delete(message.id);
    if ("failure" in message) asked?.reject(new Error(`${this.#name}: ${message.failure}`));
    else asked?.resolve(message.value);
  }

  /** The shortest of several round trips tells best how far apart the two clocks are. */
  async #measureOffset(): Promise<void> {
    let shortest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 50; round += 1) {
      const askedAt = now();
      const there = await this.ask("clock", null);
      const tripMs = now() - askedAt;
      if (tripMs >= shortest) continue;
      shortest = tripMs;
      this.#offsetMs = there - (askedAt + tripMs / 2);
    }
  }
}

/** Milliseconds since the epoch, with fractions. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

/** Node as the bench's packages bring it, or else the one on the PATH, which has to be 22.18 or newer. */
export function nodeProgram(): string {
  const brought = ["x64", "arm64"]
    .map((cpu) => join(import.meta.dir, `../node_modules/node-${process.platform}-${cpu}/bin/node`))
    .find((path) => existsSync(path));
  return brought ?? "node";
}
