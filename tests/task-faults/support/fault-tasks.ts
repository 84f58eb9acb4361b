import { setTimeout as sleep } from "node:timers/promises";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { SQL } from "bun";
import { defineTask, type Task, type TaskContext } from "../../../tasks/index.ts";

/** What the handlers of a process do. */
export type Behaviour =
  /** Two steps; `hangAfter` never goes on after it. Step 0 is the entry. */
  | { readonly do: "steps"; readonly hangAfter?: 0 | 1 }
  | { readonly do: "fail" }
  /** Works that long, or until its signal aborts. */
  | { readonly do: "work"; readonly ms: number }
  /** Works until `fault.gate` is free, whatever its signal says. */
  | { readonly do: "ignore the signal" }
  /** Blocks the event loop in the first attempt. */
  | { readonly do: "block"; readonly ms: number }
  /** Leaves a promise behind that rejects. */
  | { readonly do: "leave a rejection" };

/** The advisory lock that keeps a handler that ignores its signal. */
export const gateLock = 8_150_815;

type FaultTask<Name extends string> = Task<Name, typeof anyJson, unknown>;
export interface FaultTasks {
  readonly many: FaultTask<"many">;
  readonly once: FaultTask<"once">;
}

const anyJson: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "task-faults", validate: (value) => ({ value }) },
};

/** The tasks that every process of these tests knows; only what the handlers do differs. A result names the process that made it. */
export function faultTasks(handle: (context: TaskContext) => Promise<unknown>): FaultTasks {
  const define = <const Name extends string>(name: Name, maxAttempts: number): FaultTask<Name> =>
    defineTask({
      name,
      input: anyJson,
      maxAttempts,
      handler: (_, context) => handle(context),
      result: (value) => value ?? null,
    });
  return { many: define("many", 20), once: define("once", 1) };
}

/** Where handlers write down what they did: a connection of its own, past every proxy. */
export interface Recorder {
  note(context: TaskContext, step: number): Promise<void>;
  /** Resolves when the gate is free. */
  passGate(): Promise<void>;
  close(): Promise<void>;
}

export function openRecorder(url: string, queue: string): Recorder {
  const sql = new SQL(url, { max: 1, connection: { application_name: "fault-recorder" } });
  return {
    note: async ({ jobId, attempt }, step) =>
      void (await sql`insert into fault.step (queue, job, attempt, pid, step)
        values (${queue}, ${jobId}::uuid, ${attempt}, ${process.pid}, ${step})`),
    passGate: async () => void (await sql`select pg_advisory_xact_lock_shared(${gateLock})`),
    close: () => sql.close(),
  };
}

export const noRecorder: Recorder = {
  note: async () => undefined,
  passGate: async () => undefined,
  close: async () => undefined,
};

/** The handler of a behaviour. */
export async function behave(
  behaviour: Behaviour,
  context: TaskContext,
  recorder: Recorder,
  tell: (event: "entered" | "stepped") => void,
): Promise<unknown> {
  await recorder.note(context, 0);
  tell("entered");
  switch (behaviour.do) {
    case "steps":
      if (behaviour.hangAfter === 0) await forEver;
      await recorder.note(context, 1);
      tell("stepped");
      if (behaviour.hangAfter === 1) await forEver;
      await recorder.note(context, 2);
      break;
    case "fail":
      throw new Error("told to fail");
    case "work":
      await sleep(behaviour.ms, undefined, { signal: context.signal });
      break;
    case "ignore the signal":
      await recorder.passGate();
      await recorder.note(context, 2);
      break;
    case "block":
      if (context.attempt === 1) Bun.sleepSync(behaviour.ms);
      break;
    case "leave a rejection":
      void sleep(5).then(() => Promise.reject(new Error("left behind")));
      break;
  }
  return process.pid;
}

const forEver = new Promise<never>(() => undefined);
