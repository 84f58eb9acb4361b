import * as fc from "fast-check";

/** One call on a queue. Numbers choose among what there is at that moment: job and lease 0 are the latest. */
export type PlannedCall = { readonly by: 0 | 1 } & (
  | {
      readonly verb: "enqueue";
      readonly key: number;
      readonly variant: number;
      /** When the job is to run, in seconds from the start of the plan. */
      readonly delay: number;
      readonly attempts: number;
    }
  /** A look at a queue without a due job costs several statements, so most of those are left out. */
  | { readonly verb: "claim"; readonly evenIfEmpty: boolean }
  | { readonly verb: "renew" | "complete"; readonly lease: number; readonly stolen: boolean }
  | {
      readonly verb: "fail";
      readonly lease: number;
      readonly stolen: boolean;
      readonly code: string;
      readonly retryable: boolean;
    }
  | { readonly verb: "inspect"; readonly job: number }
);

/** Calls of one queue that are made at once, and whether their answers are lost on the way and asked for again. */
export interface PlannedStep {
  readonly calls: readonly PlannedCall[];
  readonly lost: boolean;
}

/** What happens to all queues between two rounds, while no call is under way. */
export interface Interlude {
  readonly milliseconds: number;
  /** Whether maintenance comes at once; without it claims have to find what expired. */
  readonly maintain: boolean;
  readonly fence: boolean;
}

export interface PlannedRound {
  /** One list of steps for each queue; the queues go on side by side. */
  readonly queues: readonly (readonly PlannedStep[])[];
  /** Whether the queues wait for each other after each step, so that many calls share a statement, or each goes at its own pace. */
  readonly inStep: boolean;
  /** How the round ends: with everything answered, or with the store closed, or its connections killed, amid the calls. */
  readonly end: "answered" | "closed" | "killed";
  readonly interlude: Interlude;
}

export interface PlanLimits {
  readonly queues: number;
  readonly rounds: number;
  /** Of each queue in each round. */
  readonly steps: number;
  readonly keys: number;
}

const size = "max";
const by = fc.constantFrom<0 | 1>(0, 1);
const lease = fc.nat(3);
const stolen = fc.nat(9).map((chance) => chance === 9);

/** Plans of all sizes up to the limits, of commands that shrink towards an inspection of the latest job. */
export function arbitraryPlan(limits: PlanLimits): fc.Arbitrary<readonly PlannedRound[]> {
  const call = arbitraryCall(limits.keys);
  const step = fc.record<PlannedStep>({
    calls: fc.oneof(
      { weight: 4, arbitrary: fc.tuple(call) },
      { weight: 1, arbitrary: fc.array(call, { minLength: 2, maxLength: 3, size }) },
      { weight: 1, arbitrary: fc.tuple(by, fc.integer({ min: 2, max: 12 })).map(claimsAtOnce) },
    ),
    lost: fc.nat(9).map((chance) => chance === 9),
  });
  const steps = fc.array(step, { maxLength: limits.steps, size });
  const round = fc.record<PlannedRound>({
    queues: fc.array(steps, { minLength: 1, maxLength: limits.queues, size }),
    inStep: fc.nat(7).map((chance) => chance < 7),
    end: fc.oneof(
      { weight: 20, arbitrary: fc.constant("answered" as const) },
      { weight: 1, arbitrary: fc.constant("closed" as const) },
      { weight: 1, arbitrary: fc.constant("killed" as const) },
    ),
    interlude: fc.record({
      milliseconds: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30_000 }), fc.constant(20_000)),
      maintain: fc.boolean(),
      fence: fc.nat(9).map((chance) => chance === 9),
    }),
  });
  return fc.noBias(fc.array(round, { minLength: 1, maxLength: limits.rounds, size }));
}

/** Claims of one worker that meet share a statement, and each gets another job. */
function claimsAtOnce([by, count]: [0 | 1, number]): PlannedCall[] {
  return Array.from({ length: count }, () => ({ verb: "claim", by, evenIfEmpty: false }));
}

function arbitraryCall(keys: number): fc.Arbitrary<PlannedCall> {
  const verb = <Name extends string>(name: Name) => fc.constant(name);
  return fc.oneof(
    { weight: 2, arbitrary: fc.record({ verb: verb("inspect"), by, job: fc.nat(5) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        verb: verb("enqueue"),
        by,
        key: fc.nat(keys - 1),
        variant: fc.nat(7).map((chance) => (chance === 7 ? 1 : 0)),
        delay: fc.constantFrom(-5, 0, 7, 25),
        attempts: fc.integer({ min: 1, max: 4 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ verb: verb("claim"), by, evenIfEmpty: fc.nat(7).map((chance) => chance === 7) }),
    },
    { weight: 2, arbitrary: fc.record({ verb: verb("renew"), by, lease, stolen }) },
    { weight: 3, arbitrary: fc.record({ verb: verb("complete"), by, lease, stolen }) },
    {
      weight: 4,
      arbitrary: fc.record({
        verb: verb("fail"),
        by,
        lease,
        stolen,
        code: fc.constantFrom("smtp", "disk"),
        retryable: fc.nat(3).map((chance) => chance > 0),
      }),
    },
  );
}
