import type { CallResult, JobsClient, JobsOperation } from "../../../capability/index.ts";

/** What happens to one call on its way. `unsent`: it never reaches the provider. `reply lost`: it does, and the answer is lost. */
export type Fault = "unsent" | "reply lost";

/** A client over a lossy link: what is asked of it goes to a real one, except for the calls that a test loses. */
export interface FaultyClient extends JobsClient {
  /** Loses the next call of that operation, or every one until {@link heal}. */
  lose(operation: JobsOperation, fault: Fault, times?: number): void;
  /** Runs at the next call of that operation, before it is sent: a gate for what else has to happen first. */
  before(operation: JobsOperation, action: () => Promise<void>): void;
  heal(): void;
  /** How many calls of an operation were made. */
  count(operation: JobsOperation): number;
}

export function faultyClient(client: JobsClient): FaultyClient {
  const faults = new Map<JobsOperation, Fault[]>();
  const gates = new Map<JobsOperation, () => Promise<void>>();
  const counts = new Map<JobsOperation, number>();
  const lost: CallResult<never, never> = {
    ok: false,
    error: { kind: "runtime", error: { kind: "unavailable", detail: "lost by the test" } },
  };
  const through =
    <Request, Answer>(operation: JobsOperation, send: (request: Request) => Promise<Answer>) =>
    async (request: Request): Promise<Answer> => {
      counts.set(operation, (counts.get(operation) ?? 0) + 1);
      const gate = gates.get(operation);
      gates.delete(operation);
      await gate?.();
      const fault = faults.get(operation)?.shift();
      if (fault === "unsent") return lost as Answer;
      const answer = await send(request);
      return fault === "reply lost" ? (lost as Answer) : answer;
    };
  return {
    claim: through("claim", client.claim),
    complete: through("complete", client.complete),
    enqueue: through("enqueue", client.enqueue),
    fail: through("fail", client.fail),
    inspect: through("inspect", client.inspect),
    renew: through("renew", client.renew),
    lose(operation, fault, times = 1) {
      faults.set(operation, [...(faults.get(operation) ?? []), ...Array<Fault>(times).fill(fault)]);
    },
    before: (operation, action) => void gates.set(operation, action),
    heal: () => faults.clear(),
    count: (operation) => counts.get(operation) ?? 0,
  };
}
