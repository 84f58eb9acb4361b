import type { Database } from "./database.ts";
import { DatabaseError, isSqlState } from "./drivers/database-error.ts";
import type { LeaseProof } from "./job-store.ts";
import type { CompleteLeases } from "./queries/complete-leases.ts";

type Completed = ReadonlyMap<string, true>;

/**
 * The completions that share the statement and the commit of a claim, when both were called in the same turn: one round trip for a
 * worker that ends a job and asks for the next. Each call keeps its own verdict; what the statement leaves out is settled as ever.
 */
export class SharedTrip {
  readonly #alone: CompleteLeases;
  readonly #answer = Promise.withResolvers<Completed>();
  #leases: readonly LeaseProof[] | undefined;
  #hasLeft = false;

  constructor(alone: CompleteLeases) {
    this.#alone = alone;
  }

  /** The first to ask comes along; who asks later is sent alone. */
  readonly board: CompleteLeases = (db, leases) => {
    if (this.#leases !== undefined || this.#hasLeft) return this.#alone(db, leases);
    this.#leases = leases;
    return this.#answer.promise;
  };

  /**
   * Sends a statement of the claim: the first takes along what is aboard. When the server refuses that statement, nothing of it was done, and
   * both are sent again apart: neither must fail for the other. When there was no answer, both are unavailable, and a completion can be asked again.
   */
  async carry<Answer extends { readonly completed: Completed }>(
    db: Database,
    send: (leases: readonly LeaseProof[]) => Promise<Answer>,
  ): Promise<Answer> {
    if (this.#hasLeft || this.#leases === undefined) return send([]);
    this.#hasLeft = true;
    try {
      const answer = await send(this.#leases);
      this.#answer.resolve(answer.completed);
      return answer;
    } catch (error) {
      if (error instanceof DatabaseError && isSqlState(error.code)) {
        this.#sendAlone(db, this.#leases);
        return send([]);
      }
      this.#answer.reject(error);
      throw error;
    }
  }

  /** Sends alone what is still aboard: the claim has no statement for it, or not yet. */
  leave(db: Database): void {
    if (this.#hasLeft || this.#leases === undefined) return;
    this.#hasLeft = true;
    this.#sendAlone(db, this.#leases);
  }

  #sendAlone(db: Database, leases: readonly LeaseProof[]): void {
    this.#alone(db, leases).then(this.#answer.resolve, this.#answer.reject);
  }
}
