import type { LeaseRequest } from "../../../capability/index.ts";
import { createTestClock, type TestClock } from "../../../host-fixtures/clock.ts";
import { fence } from "../../../plugin/operator/fence.ts";
import { DatabaseError } from "../../../plugin/store/drivers/database-error.ts";
import {
  openPostgres,
  type PostgresBackend,
  type PostgresBundle,
  start,
} from "../../contract/support/backends.ts";
import { at, times } from "../../contract/support/given.ts";
import type { Interlude, PlanLimits, PlannedCall, PlannedRound, PlannedStep } from "./arbitrary-plan.ts";
import { killConnections } from "./kill-connections.ts";
import { type Observed, PossibleStates } from "./possible-states.ts";
import { makeCall, type Outcome, type QueueCall } from "./queue-call.ts";
import { QueueModel } from "./queue-model.ts";

const jobTimes = { lease_seconds: 20, retry_base_seconds: 3, retry_max_seconds: 17 };
const producers = ["producer", "producer2"] as const;
const workers = ["worker", "worker2"] as const;

/** What plans have done so far: client calls made, of which so many got lost on the way. */
export interface Played {
  calls: number;
  unknown: number;
}

/**
 * Plays a plan on a real database, up to a round before which it is enough, counting in `played`, and follows it in the model. @throws Error at the first answer that no order of the calls
 * explains, and at the end when a job is not where the model has it.
 */
export async function playPlan(
  backend: PostgresBackend,
  limits: PlanLimits,
  plan: readonly PlannedRound[],
  played: Played,
  isEnough: () => boolean = () => false,
): Promise<void> {
  const queues = times(limits.queues, (index) => `queue-${index}`);
  await using bundle = await openPostgres(backend, { ...jobTimes, queues });
  const clock = createTestClock(start());
  const players = queues.map(
    (queue) => new QueuePlayer(bundle, queue, new QueueModel(jobTimes, clock), played),
  );
  let end: PlannedRound["end"] = "answered";
  for (const round of plan) {
    if (isEnough()) break;
    end = round.end;
    await playRound(bundle, players, round);
    await playInterlude(bundle, clock, players, round.interlude);
  }
  if (end === "killed") await bundle.restart();
  await Promise.all(players.map((player) => player.inspectAll()));
}

async function playRound(
  bundle: PostgresBundle,
  players: readonly QueuePlayer[],
  round: PlannedRound,
): Promise<void> {
  const { end } = round;
  const ending = end === "answered" ? undefined : Promise.withResolvers<void>();
  const planned = round.queues.reduce((sum, steps) => sum + steps.length, 0);
  let begun = 0;
  const playOne = async (player: QueuePlayer, step: PlannedStep): Promise<void> => {
    begun += 1;
    if (begun > planned / 2) ending?.resolve();
    const isOver = end !== "answered" && begun > planned / 2 + players.length;
    if (!isOver) await player.play(step, end);
  };
  const playing = playSteps(round, players, playOne).finally(() => ending?.resolve());
  if (ending !== undefined) {
    await ending.promise;
    if (end === "closed") await bundle.stop();
    else await killConnections(bundle.database);
  }
  await playing;
  if (end === "closed") await bundle.restart();
}

/** Passes each queue's steps to `playOne`, one after the other. */
async function playSteps(
  { queues, inStep, end }: PlannedRound,
  players: readonly QueuePlayer[],
  playOne: (player: QueuePlayer, step: PlannedStep) => Promise<void>,
): Promise<void> {
  const turns = queues.map((steps, index) => ({ steps, player: players[index] as QueuePlayer }));
  for (const { player } of turns) player.begin(end);
  if (!inStep) {
    const playAll = async ({ steps, player }: (typeof turns)[number]): Promise<void> => {
      for (const step of steps) await playOne(player, step);
    };
    await Promise.all(turns.map(playAll));
    return;
  }
  const longest = Math.max(...queues.map((steps) => steps.length));
  for (let place = 0; place < longest; place += 1) {
    const moves = turns.flatMap(({ steps, player }) => {
      const step = steps[place];
      return step ? [playOne(player, step)] : [];
    });
    await Promise.all(moves);
  }
}

/** Nobody calls while time passes: what a call sees of it is then the same in model and database. */
async function playInterlude(
  bundle: PostgresBundle,
  clock: TestClock,
  players: readonly QueuePlayer[],
  { milliseconds, maintain, fence: fenced }: Interlude,
): Promise<void> {
  await Promise.all([bundle.clock.advance(milliseconds), clock.advance(milliseconds)]);
  if (fenced) {
    const report = await fence({ databaseUrl: bundle.database.url, schema: "jobs" });
    if (!report.ok) throw new Error(report.message);
    // The operator's command reads the server's own clock, of which the one of the tests is behind.
    await bundle.database.query("update lease set expires_at = lenso_test_clock.now()");
  }
  if (maintain) await maintainSoon(bundle);
  for (const player of players) {
    player.change((state) => {
      if (fenced) state.fence();
      if (maintain) state.reap();
    });
  }
}

/** A connection that was killed may be found out by maintenance too, which then tries again with another one. */
async function maintainSoon(bundle: PostgresBundle): Promise<void> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await bundle.maintain();
    } catch (error) {
      if (!(error instanceof DatabaseError) || tried === 5) throw error;
    }
  }
}

/** Makes the calls of one queue, one step after the other, and remembers what callers remember. */
class QueuePlayer {
  readonly #bundle: PostgresBundle;
  readonly #queue: string;
  readonly #states: PossibleStates;
  readonly #played: Played;
  readonly #jobs: string[] = [];
  /** Rounds in which a dead connection may still be found: the one of the kill, and the next one. */
  #brokenRounds = 0;
  readonly #leases: { readonly lease: LeaseRequest; readonly by: 0 | 1 }[] = [];
  #mayOverlap = true;

  constructor(bundle: PostgresBundle, queue: string, model: QueueModel, played: Played) {
    this.#bundle = bundle;
    this.#queue = queue;
    this.#states = new PossibleStates(model);
    this.#played = played;
  }

  /** Before the first step of a round. */
  begin(end: PlannedRound["end"]): void {
    this.#brokenRounds = end === "killed" ? 2 : Math.max(0, this.#brokenRounds - 1);
  }

  async play({ calls, lost }: PlannedStep, end: PlannedRound["end"]): Promise<void> {
    // A dying transaction hides its rows from others for a moment, and who reaps what expired may depend on who is locked.
    const together = this.#brokenRounds > 0 || !this.#mayOverlap ? calls.slice(0, 1) : calls;
    const made = together.flatMap((planned) => this.#callOf(planned) ?? []);
    if (lost) await this.#make(made, end, "unheard");
    await this.#make(made, end);
  }

  change(change: (state: QueueModel) => void): void {
    this.#states.change(change);
    this.#mayOverlap = !this.#states.some((state) => state.hasExpired);
  }

  /** Every job that a caller knows of is as the model says. */
  async inspectAll(): Promise<void> {
    this.#brokenRounds = 0;
    const calls = this.#jobs.map((job_id): QueueCall => ({ verb: "inspect", caller: "observer", job_id }));
    for (const call of calls) await this.#make([call], "answered");
  }

  async #make(calls: readonly QueueCall[], end: PlannedRound["end"], heard?: "unheard"): Promise<void> {
    const outcomes = await Promise.all(
      calls.map((call) => makeCall(this.#bundle[call.caller as "worker"], call)),
    );
    this.#played.calls += calls.length;
    const observed = calls.map((call, index): Observed => {
      const outcome = outcomes[index] as Outcome;
      if (outcome === "unknown") this.#played.unknown += 1;
      if ((outcome === "unknown" && this.#brokenRounds === 0) || (outcome === "never" && end !== "closed")) {
        throw new Error(`${call.verb} got no answer although nothing was taken away`);
      }
      return { call, outcome: typeof outcome === "string" ? outcome : (heard ?? outcome) };
    });
    await this.#states.observe(observed);
    for (const { call, outcome } of observed) this.#remember(call, outcome);
  }

  #remember(call: QueueCall, outcome: Outcome): void {
    if (typeof outcome === "string" || !("value" in outcome.answer)) return;
    const value = outcome.answer.value as Partial<LeaseRequest>;
    const { job_id, lease_token } = value;
    if (job_id !== undefined && !this.#jobs.includes(job_id)) this.#jobs.unshift(job_id);
    if (job_id !== undefined && lease_token !== undefined) {
      this.#leases.unshift({ lease: { job_id, lease_token }, by: call.caller === workers[0] ? 0 : 1 });
    }
  }

  #callOf(planned: PlannedCall): QueueCall | undefined {
    const { by, verb } = planned;
    switch (verb) {
      case "enqueue": {
        const { key, variant, delay, attempts } = planned;
        const request = {
          queue: this.#queue,
          kind: `kind-${variant}`,
          payload: { key, of: this.#queue },
          idempotency_key: `${this.#queue}/${key}`,
          available_at: at(delay),
          max_attempts: variant === 0 ? 1 + (key % 4) : attempts,
        };
        return { verb, caller: producers[by], request };
      }
      case "claim":
        if (!planned.evenIfEmpty && !this.#states.some((state) => state.hasDue || state.hasExpired))
          return undefined;
        return { verb, caller: workers[by], queue: this.#queue };
      case "inspect": {
        const job_id = this.#jobs[planned.job % Math.max(1, this.#jobs.length)];
        return job_id === undefined ? undefined : { verb, caller: "observer", job_id };
      }
      default: {
        const held = this.#leases[planned.lease % Math.max(1, this.#leases.length)];
        if (held === undefined) return undefined;
        const caller = workers[planned.stolen ? 1 - held.by : held.by] as string;
        if (verb !== "fail") return { verb, caller, lease: held.lease };
        const failure = { failure_code: planned.code, retryable: planned.retryable };
        return { verb, caller, lease: held.lease, failure };
      }
    }
  }
}
