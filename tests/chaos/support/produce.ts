import type { JobsClient } from "../../../capability/index.ts";
import { problem } from "../../postgres/support/jobs.ts";
import { type ChaosRun, drawFrom } from "./chaos-run.ts";
import { intentOf, type Variant } from "./intent-of.ts";
import type { Ledger, LedgerEntry } from "./ledger.ts";
import { tryMs, untilAnswered } from "./until-answered.ts";

export interface ProduceOptions {
  readonly run: ChaosRun;
  /** Names this process among all of the run: its own keys begin with it. */
  readonly name: string;
  readonly lanes: number;
  /** A lane's pause between two jobs, in ms. */
  readonly pauseMs: number;
}

/** How long all producers share one key, in ms: those that send it in that time race for it. */
const sharedMs = 300;

/**
 * Enqueues until the signal, and finishes the calls at hand. Most keys are a lane's own; some are those that every producer sends just now,
 * with the same intent or another.
 */
export async function produce(
  jobs: JobsClient,
  ledger: Ledger,
  { run, name, lanes, pauseMs }: ProduceOptions,
  signal: AbortSignal,
): Promise<void> {
  const send = sendTo(jobs, ledger, run);
  const lane = async (_: unknown, number: number): Promise<void> => {
    const draw = drawFrom(run, "producer", name, number);
    for (let made = 0; !signal.aborted; made += 1) {
      if (draw(4) === 0) await send(sharedKey(run), draw(4) === 0 ? 1 : 0);
      else await send(`${name}/${number}/${made}`, 0);
      await Bun.sleep(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Sends again what a process before this one, now dead, had asked for without hearing of it. */
export async function repeatUnanswered(
  jobs: JobsClient,
  ledger: Ledger,
  run: ChaosRun,
  earlier: readonly LedgerEntry[],
): Promise<void> {
  const open = new Map<string, { key: string; variant: Variant }>();
  for (const each of earlier) {
    if (each.entry === "asking") open.set(`${each.key} ${each.variant}`, each);
    if (each.entry === "accepted" || each.entry === "refused") open.delete(`${each.key} ${each.variant}`);
  }
  const send = sendTo(jobs, ledger, run);
  await Promise.all([...open.values()].map(({ key, variant }) => send(key, variant)));
}

function sendTo(jobs: JobsClient, ledger: Ledger, run: ChaosRun) {
  return async (key: string, variant: Variant): Promise<void> => {
    ledger.write({ entry: "asking", key, variant });
    const request = intentOf(run, key, variant);
    const result = await untilAnswered(ledger, "enqueue", () => jobs.enqueue(request, { timeoutMs: tryMs }));
    if (!result.ok) return ledger.write({ entry: "refused", key, variant, code: problem(result) });
    const { job_id: job, created } = result.value;
    ledger.write({ entry: "accepted", key, variant, job, created });
  };
}

function sharedKey({ startedAt }: ChaosRun): string {
  return `shared/${Math.floor((Date.now() - Date.parse(startedAt)) / sharedMs)}`;
}
