import type { CallResult, ClaimResponse, JobsClient, SignalsClient } from "../../../capability/index.ts";
import { hashLeaseToken } from "../../../plugin/lease-token.ts";
import { leaseOf, problem } from "../../postgres/support/jobs.ts";
import { type ChaosRun, chaosQueues } from "./chaos-run.ts";
import { type Conduct, conductOf } from "./conduct-of.ts";
import type { Ledger } from "./ledger.ts";
import { noteOddAnswer, tryMs, untilAnswered } from "./until-answered.ts";

export interface WorkOptions {
  readonly run: ChaosRun;
  readonly lanes: number;
  /** Waits for signals between two looks, instead of only looking again. */
  readonly waits: boolean;
}

export interface WorkClients {
  readonly jobs: JobsClient;
  readonly signals: SignalsClient;
}

/** Claims and settles until the signal, and finishes the attempts at hand. */
export async function work(
  { jobs, signals }: WorkClients,
  ledger: Ledger,
  { run, lanes, waits }: WorkOptions,
  signal: AbortSignal,
): Promise<void> {
  const lane = async (_: unknown, number: number): Promise<void> => {
    let next: ReturnType<JobsClient["claim"]> | undefined;
    for (let turn = number, missed = 0; !signal.aborted || next !== undefined; turn += 1) {
      const queue = chaosQueues[turn % chaosQueues.length] ?? chaosQueues[0];
      const claim = () => jobs.claim({ queue }, { timeoutMs: tryMs });
      const claimed = await (next ?? claim());
      next = undefined;
      noteOddAnswer(ledger, "claim", claimed);
      missed = claimed.ok ? 0 : missed + 1;
      // Every other lane asks for its next job in the moment in which it ends the last.
      const onEnding = (): void => {
        if (number % 2 === 1 && !signal.aborted) next ??= claim();
      };
      if (claimed.ok) await attempt(jobs, ledger, run, claimed.value, onEnding);
      else if (missed % chaosQueues.length === 0 && waits) {
        const request = { queues: [...chaosQueues], timeout_ms: 1000 };
        noteOddAnswer(ledger, "wait", await signals.wait(request, { timeoutMs: tryMs }));
      } else await Bun.sleep(30);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function attempt(
  jobs: JobsClient,
  ledger: Ledger,
  run: ChaosRun,
  claimed: ClaimResponse,
  onEnding: () => void,
): Promise<void> {
  const { job_id: job, attempt: number, payload, lease_expires_at } = claimed;
  const lease = leaseOf(claimed);
  const token = hashLeaseToken(claimed.lease_token) ?? "malformed";
  let until = endOfLease(lease_expires_at);
  let atLeastUntil = Date.parse(lease_expires_at);
  ledger.write({ entry: "started", job, attempt: number, token });
  const conduct = conductOf(run, payload.key as string, number);
  const leaseMs = run.leaseSeconds * 1000;

  const call = async <Value>(
    how: Conduct["ending"] | "renew",
    make: () => Promise<CallResult<Value, string>>,
  ): Promise<CallResult<Value, string>> => {
    const which = { how, job, attempt: number, token };
    ledger.write({ entry: "calling", ...which, at: Date.now(), until, atLeastUntil });
    const timesAsked = how !== "renew" && conduct.asksAgain ? 2 : 1;
    for (let asked = 1; ; asked += 1) {
      const answer = make();
      if (how !== "renew" && asked === 1) onEnding();
      const result = await answer;
      const status = result.ok && how !== "complete" && how !== "renew" ? statusOf(result.value) : {};
      ledger.write({ entry: "answered", ...which, at: Date.now(), answer: problem(result), ...status });
      if (!result.ok || asked === timesAsked) return result;
    }
  };

  const { work: length } = conduct;
  const workMs = "forMs" in length ? length.forMs : until - Date.now() + length.pastLeaseMs;
  for (let left = workMs; left > 0; left -= leaseMs / 3) {
    await Bun.sleep(Math.min(left, leaseMs / 3));
    if (!conduct.renews) continue;
    const renewed = await call("renew", () => jobs.renew(lease, { timeoutMs: leaseMs }));
    noteOddAnswer(ledger, "renew", renewed);
    if (renewed.ok) {
      atLeastUntil = Date.parse(renewed.value.lease_expires_at);
      until = Math.max(until, endOfLease(renewed.value.lease_expires_at));
    }
    // It may have been done all the same, before the lease's end and not later.
    else if (problem(renewed).startsWith("runtime:")) until += leaseMs;
  }
  const { ending } = conduct;
  if (ending === "complete") {
    await call(ending, () =>
      untilAnswered(ledger, "complete", () => jobs.complete(lease, { timeoutMs: tryMs })),
    );
  } else {
    const failure = { ...lease, failure_code: ending, retryable: ending === "retry" };
    await call(ending, () => untilAnswered(ledger, "fail", () => jobs.fail(failure, { timeoutMs: tryMs })));
  }
}

function statusOf(value: unknown): { readonly status: "queued" | "failed" } {
  return { status: (value as { readonly status: "queued" | "failed" }).status };
}

/** The first millisecond at which a lease with this end has passed for sure. */
function endOfLease(expiresAt: string): number {
  return Math.floor(Date.parse(expiresAt)) + 1;
}
