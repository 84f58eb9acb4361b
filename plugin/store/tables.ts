import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely";

/** The tables as queries see them. 64-bit numbers, times and bytes travel as text: see the driver's rule on parameters. */
export interface Tables {
  readonly name: { readonly hash: string; readonly name: string };
  readonly jobs: {
    readonly id: string;
    readonly queue: string;
    readonly requested_at: string;
    readonly created_at: string;
    readonly max_attempts: number;
    readonly nonce: string;
    readonly kind: string;
  };
  readonly ready: Claimable & { readonly generation: string };
  readonly lease: Claimable & { readonly expires_at: string };
  readonly outcome: {
    readonly id: string;
    readonly next_run: string;
    readonly finished_at: string;
    readonly attempt: number;
    readonly state: "s" | "f";
    readonly code: string | null;
  };
}

interface Claimable {
  readonly id: string;
  readonly queue: string;
  readonly next_run: string;
  readonly updated_at: string;
  readonly attempt: number;
  readonly last_code: string | null;
}

/** Builds texts only; the store's own drivers run them. */
export const queryBuilder: Kysely<Tables> = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});
