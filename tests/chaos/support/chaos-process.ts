import { join } from "node:path";
import type { TestDriver } from "../../postgres/support/jobs-host.ts";
import type { ChaosRun } from "./chaos-run.ts";

export type ChaosRole = "producer" | "worker";

export interface ChaosProcessOptions {
  readonly run: ChaosRun;
  readonly role: ChaosRole;
  /** Names it among all processes of the run. */
  readonly name: string;
  readonly driver: TestDriver;
  /** The database as this process reaches it. */
  readonly url: string;
  /** Where it writes what it did. */
  readonly ledger: string;
  /** The ledger of the dead process whose place it takes, if there was one. */
  readonly earlier?: string;
}

/** A producer or a worker in a process of its own. */
export interface ChaosProcess {
  /** Its exit code, or the number of the signal that ended it and 128. */
  readonly exited: Promise<number>;
  kill(): Promise<void>;
  /** Freezes it, as a machine without memory or a debugger does. */
  pause(): void;
  resume(): void;
  /** Asks it to finish what it has and to end by itself. Resolves to its exit code, or rejects after `limitMs`. */
  finish(limitMs: number): Promise<number>;
}

const program = join(import.meta.dir, "chaos-program.ts");

/** Starts one. It ends with this process, however that ends. */
export function startChaosProcess(options: ChaosProcessOptions): ChaosProcess {
  const child = Bun.spawn([process.execPath, program, JSON.stringify(options)], {
    stdin: "pipe", // nothing is written: it ends when we do
    stdout: "ignore",
    stderr: "inherit",
  });
  return {
    exited: child.exited,
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    async finish(limitMs) {
      child.kill("SIGTERM");
      const { promise, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(
        () => reject(new Error(`${options.name} still runs ${limitMs} ms after SIGTERM`)),
        limitMs,
      );
      return Promise.race([child.exited, promise]).finally(() => clearTimeout(timer));
    },
  };
}
