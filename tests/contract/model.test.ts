import { describe, expect, test } from "bun:test";
import type { LeaseRequest } from "../../capability/index.ts";
import { type Backend, type Bundle, open, postgresBackends } from "./support/backends.ts";
import { at, jobRequest, seededRandom, times } from "./support/given.ts";

/** One call, told without ids and tokens, which differ from run to run, and what came of it. */
type Step = readonly [call: string, answer: unknown];

/** The same calls, drawn from a seed, one after the other; each step also says in which state all jobs are. */
async function script(bundle: Bundle, seed: number): Promise<Step[]> {
  const random = seededRandom(seed);
  const requests = times(25, (index) => ({
    ...jobRequest(),
    idempotency_key: `script-${index}`,
    queue: index % 3 === 0 ? "other" : "mail",
    max_attempts: 1 + (index % 4),
    available_at: at(random(40) - 10),
  }));
  const numbers = new Map<string, number>();
  const numberOf = (job_id: string) => numbers.get(job_id) ?? numbers.set(job_id, numbers.size).size - 1;
  const leases: { readonly lease: LeaseRequest; readonly by: "worker" | "worker2" }[] = [];
  /** What is comparable of an answer: ids as numbers, tokens not at all. */
  const told = (answer: unknown): unknown =>
    JSON.parse(JSON.stringify(answer), (key, value: unknown) => {
      if (key === "job_id") return numberOf(value as string);
      return key === "lease_token" ? undefined : value;
    });

  const act = async (): Promise<Step> => {
    const by = random(3) === 0 ? "worker2" : "worker";
    const held = leases[Math.max(0, leases.length - 1 - random(6))];
    const choice = random(20);
    if (choice < 5 || held === undefined) {
      const index = random(requests.length);
      const request = requests[index] ?? jobRequest();
      const kind = random(8) === 0 ? "mail.other" : request.kind;
      return [`enqueue ${index} ${kind}`, told(await bundle.producer.enqueue({ ...request, kind }))];
    }
    if (choice < 10) {
      const queue = random(3) === 0 ? "other" : "mail";
      const answer = await bundle[by].claim({ queue });
      if (answer.ok) {
        const { job_id, lease_token } = answer.value;
        leases.push({ lease: { job_id, lease_token }, by });
      }
      return [`${by} claims from ${queue}`, told(answer)];
    }
    const caller = random(12) === 0 ? by : held.by;
    const about = `${caller} with lease ${leases.indexOf(held)}`;
    if (choice < 12) return [`renew ${about}`, told(await bundle[caller].renew(held.lease))];
    if (choice < 14) return [`complete ${about}`, told(await bundle[caller].complete(held.lease))];
    if (choice < 17) {
      const failure = { failure_code: random(2) === 0 ? "a" : "b", retryable: random(4) > 0 };
      const answer = await bundle[caller].fail({ ...held.lease, ...failure });
      return [`fail ${about} ${JSON.stringify(failure)}`, told(answer)];
    }
    const milliseconds = random(20_000) + random(1000) / 1000;
    await bundle.clock.advance(milliseconds);
    // At once, since the plugin may take an expired job back a moment later than the model does.
    await bundle.maintain();
    return [`${milliseconds} ms pass`, undefined];
  };

  const steps: Step[] = [];
  for (let step = 0; step < 250; step += 1) {
    steps.push(await act());
    const [job_id] = [...numbers.keys()].slice(random(numbers.size || 1));
    if (job_id) steps.push([`inspect ${numberOf(job_id)}`, told(await bundle.observer.inspect({ job_id }))]);
  }
  return steps;
}

async function run(backend: Backend, seed: number): Promise<Step[]> {
  const configuration = { lease_seconds: 20, retry_base_seconds: 3, retry_max_seconds: 17 };
  await using bundle = await open(backend, configuration);
  return await script(bundle, seed);
}

describe.each(postgresBackends)("against the reference model, %s", (backend) => {
  test.each([1, 2, 3, 4, 5, 6])(
    "250 calls of seed %p get the answers of the model, to the microsecond",
    async (seed) => {
      const [expected, got] = [await run("memory", seed), await run(backend, seed)];
      for (const [index, step] of expected.entries()) {
        expect({ seed, index, step: got[index] }).toEqual({ seed, index, step });
      }
    },
  );
});
