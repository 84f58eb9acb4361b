import { type CapabilityHandle, RuntimeFailureError } from "../capability/index.ts";
import type { JobsConfig } from "./config.ts";
import { databasePlace } from "./lifecycle/database-place.ts";
import { resolveDatabaseUrl } from "./lifecycle/resolve-database-url.ts";
import { verifySchema } from "./lifecycle/verify-schema.ts";
import { Database } from "./store/database.ts";
import { toRuntimeFailure } from "./store/database-failure.ts";
import { driverFor } from "./store/drivers/open-driver.ts";
import type { JobStore } from "./store/job-store.ts";
import { PostgresJobStore } from "./store/postgres-job-store.ts";
import type { SignalSource } from "./store/wake/signal-source.ts";

/** What tests may change of an Instance and a configuration may not. */
export interface EngineOptions {
  /** SQL expression of the clock, VOLATILE. */
  readonly clock: string;
  readonly maintenanceIntervalMs: number;
  /** How long a listening connection may leave a notification to itself unheard, in ms. Default 10 000. */
  readonly echoMs?: number;
}

/** One Jobs Instance between `prepare` and the end of `deactivate`. */
export class JobsInstance {
  readonly #key: string;
  readonly #config: JobsConfig;
  readonly #engine: EngineOptions;
  #store: PostgresJobStore | undefined;
  #closed: Promise<void> | undefined;
  /** Host, port and database of the URL that was resolved last. */
  #place: string | undefined;

  constructor(key: string, config: JobsConfig, engine: EngineOptions) {
    this.#key = key;
    this.#config = config;
    this.#engine = engine;
  }

  /** @throws RuntimeFailureError `unavailable` before `prepare`, `admission_closed` after `deactivate`. */
  store(): JobStore & SignalSource {
    if (this.#closed)
      throw new RuntimeFailureError("admission_closed", `Jobs Instance "${this.#key}" is stopping`);
    if (this.#store) return this.#store;
    throw new RuntimeFailureError("unavailable", `Jobs Instance "${this.#key}" is not prepared`);
  }

  /** Secret → pools → schema verified. Changes nothing and starts nothing. @throws RuntimeFailureError */
  async prepare(secrets: CapabilityHandle | undefined, signal?: AbortSignal): Promise<void> {
    const { schema, driver, database_url_secret: reference } = this.#config;
    const db = await this.#open(secrets, reference, driver, signal);
    try {
      await verifySchema(db, this.#config, this.#key);
    } catch (error) {
      await db.close(0);
      const { kind, detail } = toRuntimeFailure(error);
      const where =
        kind === "unavailable" && this.#place !== undefined ? `; its URL leads to ${this.#place}` : "";
      throw new RuntimeFailureError(kind, `Jobs Instance "${this.#key}": ${detail}${where}`);
    }
    if (this.#closed) {
      // Rolled back while it was still connecting.
      await db.close(0);
      throw new RuntimeFailureError("admission_closed", `Jobs Instance "${this.#key}" is stopping`);
    }
    const { queues, producer_instances, worker_instances, observer_instances } = this.#config;
    this.#store = new PostgresJobStore(db, {
      instanceKey: this.#key,
      schema,
      clock: this.#engine.clock,
      leaseSeconds: this.#config.lease_seconds,
      retryBaseSeconds: this.#config.retry_base_seconds,
      retryMaxSeconds: this.#config.retry_max_seconds,
      maintenanceIntervalMs: this.#engine.maintenanceIntervalMs,
      pollIntervalMs: this.#config.poll_interval_ms,
      listen: !this.#config.transaction_pooler,
      ...(this.#engine.echoMs !== undefined && { echoMs: this.#engine.echoMs }),
      onDeaf: () => this.#warnOfDeafness(),
      names: [...new Set([...queues, ...producer_instances, ...worker_instances, ...observer_instances])],
    });
  }

  /** Records the Instance in its schema and starts maintenance. @throws RuntimeFailureError */
  async activate(): Promise<void> {
    await this.#store?.register();
    this.#store?.startMaintenance();
  }

  /** Refuses new calls, finishes those in flight within `timeoutMs`, closes the pools. Safe twice, and before `prepare`. */
  deactivate(timeoutMs: number): Promise<void> {
    this.#closed ??= this.#store?.close(timeoutMs) ?? Promise.resolve();
    return this.#closed;
  }

  /** One round of maintenance, now. */
  async maintain(): Promise<void> {
    await this.#store?.maintain();
  }

  /** As a warning of the process, which prints it to standard error unless the host listens to its event `warning`. */
  #warnOfDeafness(): void {
    const { poll_interval_ms: every } = this.#config;
    process.emitWarning(
      `Jobs Instance "${this.#key}": notifications of PostgreSQL do not arrive, as behind a transaction pooler (then set transaction_pooler: true); a waiting worker notices other processes' jobs by looking, every ${every} ms`,
      { type: "LensoJobsWarning", code: "LENSO_JOBS_NOT_NOTIFIED" },
    );
  }

  async #open(
    secrets: CapabilityHandle | undefined,
    reference: string,
    driver: JobsConfig["driver"],
    signal: AbortSignal | undefined,
  ): Promise<Database> {
    // The signal ends with `prepare`; a later resolution, after a rotation, has only its own time limit.
    let preparing = signal;
    const db = await Database.open({
      driver,
      transactionPooler: this.#config.transaction_pooler,
      resolveUrl: async () => {
        const url = await resolveDatabaseUrl(secrets, reference, driverFor(driver), preparing);
        this.#place = databasePlace(url);
        return url;
      },
    });
    preparing = undefined;
    return db;
  }
}
