/** One line that such a process has printed. */
export interface ToldEvent {
  readonly event: string;
  readonly queue?: string;
  readonly jobId?: string;
  readonly attempt?: number;
  readonly message?: string;
  readonly [field: string]: unknown;
}

/** A process that tells what happens as lines of JSON, and takes lines of JSON. */
export interface TellingProcess extends AsyncDisposable {
  readonly pid: number;
  /** Everything that it has told so far. */
  readonly events: readonly ToldEvent[];
  /** The first event, told already or to come, that fits. Rejects when the process ends before it, or after `limitMs` (60 000). */
  told(event: string, fits?: (event: ToldEvent) => boolean, limitMs?: number): Promise<ToldEvent>;
  /** Its exit code, once it has ended. */
  readonly exited: Promise<number>;
  signal(signal: "SIGKILL" | "SIGTERM"): void;
  /** Sends a line to its standard input. */
  ask(request: object): void;
}

/** Starts one; disposing of it kills it. */
export function startTellingProcess(command: string[]): TellingProcess {
  const child = Bun.spawn(command, {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const events: ToldEvent[] = [];
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
      for (const line of lines) events.push(JSON.parse(line) as ToldEvent);
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
    ask(request) {
      void child.stdin.write(`${JSON.stringify(request)}\n`);
      void child.stdin.flush();
    },
    told(event, fits = () => true, limitMs = 60_000) {
      const { promise, resolve, reject } = Promise.withResolvers<ToldEvent>();
      const fail = (why: string): void =>
        reject(new Error(`${why} before it told "${event}"; it told ${JSON.stringify(events.slice(-10))}`));
      const timer = setTimeout(() => fail(`${limitMs} ms passed`), limitMs);
      const looker = (): void => {
        const found = events.find((each) => each.event === event && fits(each));
        if (found) resolve(found);
        else if (ended) fail("the process ended");
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
