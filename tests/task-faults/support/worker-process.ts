import { join } from "node:path";
import type { Behaviour } from "./fault-tasks.ts";
import type { ProviderKind } from "./open-provider.ts";

export interface WorkerProcessOptions {
  readonly kind: ProviderKind;
  /** The database as the handlers' recorders reach it. */
  readonly url: string;
  /** Each has a provider of its own. */
  readonly workers: readonly WorkerOptions[];
  /** How long a SIGTERM waits for the handlers. Default: as long as they need. */
  readonly drainMs?: number;
}

export interface WorkerOptions {
  readonly queue: string;
  readonly behaviour: Behaviour;
  /** The database as this worker reaches it, by way of a proxy. Default: the recorders' way. */
  readonly proxyUrl?: string;
  /** Default 1. */
  readonly concurrency?: number;
  /** Handlers neither record nor tell that they run: for many jobs, and where the recorder's connection would break too. Default false. */
  readonly quiet?: boolean;
  readonly timeoutMs?: number;
  readonly leaseSeconds?: number;
  readonly signals?: boolean;
  /** Opens connections as they are needed. Default false. */
  readonly frugal?: boolean;
  /** Over the options that all providers of these tests share. */
  readonly changes?: {
    readonly heartbeatSeconds?: number;
    readonly pollIntervalMs?: number;
    readonly superviseIntervalSeconds?: number;
  };
}

/** One line that a worker process has printed. */
export interface WorkerEvent {
  readonly event: string;
  readonly queue?: string;
  readonly jobId?: string;
  readonly attempt?: number;
  readonly message?: string;
  readonly [field: string]: unknown;
}

/** Workers in a process of their own. */
export interface WorkerProcess extends AsyncDisposable {
  readonly pid: number;
  /** Everything that it has told so far. */
  readonly events: readonly WorkerEvent[];
  /** The first event, told already or to come, that fits. Rejects when the process ends before it, or after `limitMs` (60 000). */
  told(event: string, fits?: (event: WorkerEvent) => boolean, limitMs?: number): Promise<WorkerEvent>;
  /** Its exit code, once it has ended. */
  readonly exited: Promise<number>;
  signal(signal: "SIGKILL" | "SIGTERM"): void;
}

const program = join(import.meta.dir, "worker-program.ts");

/** Starts a worker process; disposing of it kills it. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const child = Bun.spawn([process.execPath, program, JSON.stringify(options)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const events: WorkerEvent[] = [];
  const lookers = new Set<() => void>();
  let ended = false;
  const look = (): void => {
    for (const looker of lookers) looker();
  };
  const reading = (async () => {
    let rest = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) events.push(JSON.parse(line) as WorkerEvent);
      look();
    }
    ended = true;
    look();
  })();
  const exited = Promise.all([child.exited, reading]).then(([code]) => code);
  return {
    pid: child.pid,
    events,
    exited,
    signal: (signal) => child.kill(signal),
    told(event, fits = () => true, limitMs = 60_000) {
      const { promise, resolve, reject } = Promise.withResolvers<WorkerEvent>();
      const fail = (why: string): void =>
        reject(new Error(`${why} before it told "${event}"; it told ${JSON.stringify(events.slice(-10))}`));
      const timer = setTimeout(() => fail(`${limitMs} ms passed`), limitMs);
      const looker = (): void => {
        const found = events.find((each) => each.event === event && fits(each));
        if (found) resolve(found);
        else if (ended) fail("the worker process ended");
      };
      lookers.add(looker);
      looker();
      return promise.finally(() => {
        clearTimeout(timer);
        lookers.delete(looker);
      });
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
