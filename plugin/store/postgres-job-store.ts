import { randomUUID } from "node:crypto";
import type { Call } from "../call.ts";
import type { JobId } from "../job-id.ts";
import { Background } from "./background.ts";
import { type ClaimBatch, claimBatch } from "./claim-batch.ts";
import { Coalescer } from "./coalescer.ts";
import { type Database, lockConnections } from "./database.ts";
import { toRuntimeFailure } from "./database-failure.ts";
import { EndOfTurn } from "./end-of-turn.ts";
import { enqueueBatch, type PendingEnqueue } from "./enqueue-batch.ts";
import type {
  EnqueueVerdict,
  Failure,
  FailVerdict,
  JobEvidence,
  JobStore,
  LeasedJob,
  LeaseProof,
  NewJob,
} from "./job-store.ts";
import { completeSteps, failSteps, type Refusable, renewSteps } from "./lease-steps.ts";
import { Maintenance } from "./maintenance.ts";
import type { Pending } from "./pending.ts";
import { type CompleteLeases, completeFreeLeases } from "./queries/complete-leases.ts";
import type { FailedAttempt } from "./queries/fail-leases.ts";
import { inspectJobs } from "./queries/inspect-jobs.ts";
import { listLeasedQueues } from "./queries/list-leased-queues.ts";
import { locateSettlements } from "./queries/locate-settlements.ts";
import { lookForWork } from "./queries/look-for-work.ts";
import { registerInstance } from "./queries/register-instance.ts";
import { registerWaiter } from "./queries/register-waiter.ts";
import { queueWaters } from "./queue-waters.ts";
import { type LeaseSteps, type SettleBatch, settleBatch } from "./settle-batch.ts";
import { SharedTrip } from "./shared-trip.ts";
import { SharedWaits, type WaitingCall } from "./shared-waits.ts";
import { Slots } from "./slots.ts";
import { sqlContext } from "./sql-context.ts";
import { SignalHub } from "./wake/signal-hub.ts";
import type { SignalSource } from "./wake/signal-source.ts";
import { wakeChannel } from "./wake/wake-channel.ts";
import { withinTime } from "./within-time.ts";

export interface PostgresJobStoreOptions {
  readonly instanceKey: string;
  readonly schema: string;
  readonly clock: string;
  readonly leaseSeconds: number;
  readonly retryBaseSeconds: number;
  readonly retryMaxSeconds: number;
  readonly maintenanceIntervalMs: number;
  /** How often a queue that a worker waits for is looked at, in ms. */
  readonly pollIntervalMs: number;
  /** False behind a transaction pooler, where LISTEN fails silently. */
  readonly listen: boolean;
  /** How long a listening connection may leave a notification to itself unheard, in ms. Default 10 000. */
  readonly echoMs?: number;
  /** Told once, when notifications turn out not to arrive: jobs are noticed by looking alone then. */
  onDeaf(): void;
  /** Every queue and caller name of the configuration. */
  readonly names: readonly string[];
}

/** Statements of one kind under way at once. */
const inFlight = 2;
/** Claims of all queues under way at once: two on each of their connections. */
const claimsInFlight = 4;

/** Jobs in PostgreSQL. Concurrent calls of a kind share a statement and a commit, and each gets its own verdict. */
export class PostgresJobStore implements JobStore, SignalSource {
  readonly #db: Database;
  readonly #options: PostgresJobStoreOptions;
  readonly #enqueues: Coalescer<NewJob, EnqueueVerdict>;
  readonly #completes: Coalescer<LeaseProof, boolean>;
  readonly #fails: Coalescer<FailedAttempt, Refusable<FailVerdict>>;
  readonly #renews: Coalescer<LeaseProof, Refusable<{ readonly expiresAt: string }>>;
  readonly #inspects: Coalescer<JobId, JobEvidence | undefined>;
  readonly #claims = new Map<string, Coalescer<undefined, LeasedJob | undefined>>();
  readonly #claimSlots = new Slots(claimsInFlight);
  readonly #turn = new EndOfTurn();
  readonly #completeFree: CompleteLeases;
  readonly #settleCompletes: SettleBatch<LeaseProof, boolean>;
  readonly #claimBatch: ClaimBatch;
  readonly #background = new Background();
  readonly #waits: { idle(): Promise<void> }[] = [];
  readonly #maintenance: Maintenance;
  readonly #signals: SignalHub;
  readonly #register: ReturnType<typeof registerInstance>;
  #registered: true | Promise<void> | undefined;

  constructor(db: Database, options: PostgresJobStoreOptions) {
    const sql = sqlContext(options.schema, options.clock);
    const waterOf = queueWaters(sql);
    const locate = locateSettlements(sql);
    const inspect = inspectJobs(options.schema);
    this.#db = db;
    this.#options = options;
    this.#register = registerInstance(sql);
    this.#claimBatch = claimBatch(sql, waterOf, this.#background);
    this.#maintenance = new Maintenance(db, listLeasedQueues(sql), waterOf, options.maintenanceIntervalMs);
    const channel = wakeChannel(options.schema);
    const listener = randomUUID();
    this.#signals = new SignalHub(db, {
      channel,
      listener,
      pollIntervalMs: options.pollIntervalMs,
      listen: options.listen,
      ...(options.echoMs !== undefined && { echoMs: options.echoMs }),
      onDeaf: () => options.onDeaf(),
      look: lookForWork(sql),
      register: registerWaiter(sql, channel),
      waterOf,
    });
    const wakeUps = { channel, listener, wake: (queueHash: string) => this.#signals.wake(queueHash) };
    const lone = {
      background: this.#background,
      waits: this.#sharedWaits<PendingEnqueue>(lockConnections.keys),
    };
    this.#enqueues = this.#coalescer("enqueue", enqueueBatch(sql, lone, wakeUps));
    this.#inspects = this.#coalescer("inspect", async (_, batch) => {
      const found = await inspect(
        db,
        batch.map((call) => call.input),
      );
      batch.forEach((call, index) => call.answer(found[index]));
    });
    const settle = <In, Verdict>(steps: LeaseSteps<In, Verdict>) =>
      settleBatch(steps, locate, this.#sharedWaits(lockConnections.leases));
    this.#completeFree = completeFreeLeases(sql);
    this.#settleCompletes = settle(completeSteps(sql, this.#completeFree));
    this.#completes = this.#coalescer("complete", this.#settleCompletes);
    this.#renews = this.#coalescer("renew", settle(renewSteps(sql, options.leaseSeconds)));
    const backoff = { baseSeconds: options.retryBaseSeconds, maxSeconds: options.retryMaxSeconds };
    this.#fails = this.#coalescer("fail", settle(failSteps(sql, backoff)));
  }

  enqueue(job: NewJob, call: Call): Promise<EnqueueVerdict> {
    return this.#enqueues.submit(job, 256 + job.payload.length, call);
  }

  claim(
    request: { readonly queue: string; readonly owner: string },
    call: Call,
  ): Promise<LeasedJob | undefined> {
    return this.#claimsOf(request.queue, request.owner).submit(undefined, 32, call);
  }

  async renew(lease: LeaseProof, call: Call): Promise<string | undefined> {
    const verdict = await this.#renews.submit(lease, 128, call);
    return verdict === "refused" ? undefined : verdict.expiresAt;
  }

  complete(lease: LeaseProof, call: Call): Promise<boolean> {
    return this.#completes.submit(lease, 128, call);
  }

  async fail(lease: LeaseProof, failure: Failure, call: Call): Promise<FailVerdict | undefined> {
    const verdict = await this.#fails.submit({ lease, failure }, 256, call);
    if (verdict === "refused") return undefined;
    if (verdict.status === "queued") this.#signals.rescheduled();
    return verdict;
  }

  inspect(id: JobId, call: Call): Promise<JobEvidence | undefined> {
    return this.#inspects.submit(id, 64, call);
  }

  /** {@link SignalSource}: which of the queues may have a claimable job. */
  async wait(queues: readonly string[], timeoutMs: number, call: Call): Promise<string | null> {
    if (this.#registered !== true) await this.register();
    return this.#signals.wait(queues, timeoutMs, call);
  }

  /** Records the Instance and its names, once. @throws RuntimeFailureError `invalid_resolved_plan` when the schema is another's. */
  register(): Promise<void> {
    if (this.#registered === true) return Promise.resolve();
    this.#registered ??= this.#registerOnce();
    return this.#registered;
  }

  startMaintenance(): void {
    this.#maintenance.start();
  }

  /** One round of maintenance, now. */
  maintain(): Promise<void> {
    return this.#maintenance.run();
  }

  /** Waits for every call under way, undone claims included, up to `timeoutMs`; then closes the connections. */
  async close(timeoutMs: number): Promise<void> {
    const endsAt = performance.now() + timeoutMs;
    await withinTime(timeoutMs, Promise.all([this.#maintenance.stop(), this.#signals.close(), this.#idle()]));
    await this.#db.close(Math.max(0, endsAt - performance.now()));
  }

  async #idle(): Promise<void> {
    const all = [
      this.#enqueues,
      this.#completes,
      this.#fails,
      this.#renews,
      this.#inspects,
      ...this.#claims.values(),
    ];
    await Promise.all(all.map((calls) => calls.idle()));
    // In the order in which they hand work on.
    await this.#background.idle();
    await Promise.all(this.#waits.map((waits) => waits.idle()));
  }

  async #registerOnce(): Promise<void> {
    try {
      await this.#register(this.#db, this.#options.instanceKey, this.#options.names);
      this.#registered = true;
    } catch (error) {
      this.#registered = undefined;
      throw toRuntimeFailure(error);
    }
  }

  #claimsOf(queue: string, owner: string): Coalescer<undefined, LeasedJob | undefined> {
    const key = `${queue} ${owner}`;
    let claims = this.#claims.get(key);
    if (claims === undefined) {
      const { leaseSeconds } = this.#options;
      const run: Run<undefined, LeasedJob | undefined> = (db, batch) => {
        const trip = new SharedTrip(this.#completeFree);
        this.#completes.carry((completes) => this.#settleCompletes(db, completes, trip.board));
        return this.#claimBatch(db, { queue, owner, leaseSeconds }, batch, trip);
      };
      claims = new Coalescer({
        name: "claim",
        inFlight,
        turn: this.#turn,
        rank: 1, // before completions, which then share its trip
        slots: this.#claimSlots,
        run: (batch) => this.#registeredThen(run, batch),
      });
      this.#claims.set(key, claims);
    }
    return claims;
  }

  #coalescer<In, Out>(name: string, run: Run<In, Out>): Coalescer<In, Out> {
    return new Coalescer({
      name,
      inFlight,
      turn: this.#turn,
      rank: 2,
      run: (batch) => this.#registeredThen(run, batch),
    });
  }

  /** The first statement is preceded by the registration; a call that gives up does not wait for it. */
  async #registeredThen<In, Out>(run: Run<In, Out>, batch: readonly Pending<In, Out>[]): Promise<void> {
    if (this.#registered !== true) await this.register();
    await run(this.#db, batch);
  }

  #sharedWaits<Call extends WaitingCall>(connections: number): SharedWaits<Call> {
    const waits = new SharedWaits<Call>(connections);
    this.#waits.push(waits);
    return waits;
  }
}

type Run<In, Out> = (db: Database, batch: readonly Pending<In, Out>[]) => Promise<void>;
