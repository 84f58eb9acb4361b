import { join } from "node:path";
import type { JobCommandRequest } from "../../../job-provider/host/index.ts";
import type { JobReference, JobSubmitInput } from "../../../job-provider/index.ts";
import type { FaultHostOptions } from "./open-fault-host.ts";

/** A command, as a process is asked for it. */
export interface AskedCommand extends Omit<JobCommandRequest, "signal"> {
  readonly reference: JobReference;
  readonly name: string;
}

/** What a process does next. */
export type HostProcessRequest =
  | { readonly do: "work"; readonly concurrency: number }
  /** All at once. */
  | { readonly do: "submit"; readonly submissions: readonly JobSubmitInput[] }
  /** All at once. */
  | { readonly do: "command"; readonly commands: readonly AskedCommand[] };

/** A job host in a process of its own; disposing of it kills it. */
export interface HostProcess extends AsyncDisposable {
  readonly ready: Promise<void>;
  /** Asks once the process is ready; resolves to the answer, one request after the other. Rejects when it is killed before. */
  ask(request: HostProcessRequest): Promise<unknown>;
  /** Ends it with SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

const program = join(import.meta.dir, "host-program.ts");

/** Starts such a process. It opens its host at once. */
export function startHostProcess(options: Omit<FaultHostOptions, "onError">): HostProcess {
  const child = Bun.spawn([process.execPath, program, JSON.stringify(options)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines = linesOf(child.stdout);
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the process ended before it answered, with ${await child.exited}`);
    return JSON.parse(value);
  };
  const ready = next().then(() => undefined);
  let turn: Promise<unknown> = ready;
  turn.catch(() => undefined); // it may be killed before anybody waits for it
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return {
    ready,
    ask(request) {
      const answer = turn.then(async () => {
        await child.stdin.write(`${JSON.stringify(request)}\n`);
        await child.stdin.flush();
        return next();
      });
      turn = answer;
      turn.catch(() => undefined);
      return answer;
    },
    kill,
    [Symbol.asyncDispose]: kill,
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
