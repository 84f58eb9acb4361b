import { numberArray } from "../array-literal.ts";
import type { SqlValue } from "../drivers/driver.ts";
import type { LeaseProof } from "../job-store.ts";
import { nameHash } from "../name-hash.ts";
import type { SqlContext } from "../sql-context.ts";

/** The four parameters of {@link leaseProofs}: ids, token hashes, owners and nonces. */
export function leaseArguments(leases: readonly LeaseProof[]): SqlValue[] {
  return [
    numberArray(leases.map((lease) => lease.id.row)),
    leases.map((lease) => lease.tokenHash).join(""),
    numberArray(leases.map((lease) => nameHash(lease.owner))),
    leases.map((lease) => lease.id.nonce).join(""),
  ];
}

/**
 * The proofs of {@link leaseArguments} as a table `c (id, token, owner, nonce, place)`; they begin with parameter `first`. Further parameters
 * of these array types become columns `more`. Bytes of one length travel as one text and are cut: to read an array of them took a sixth of a
 * completion's time.
 */
export function leaseProofs(first = 1, more: Readonly<Record<string, "text" | "boolean">> = {}): string {
  const bytes = (parameter: number, length: number): string =>
    `substring((select decode($${parameter}::text, 'hex')) from (${length} * (u.place - 1) + 1)::int for ${length})`;
  const others = Object.values(more).map((type, index) => `, $${first + 4 + index}::text::${type}[]`);
  const names = Object.keys(more).map((name) => `, ${name}`);
  return `(select u.*, ${bytes(first + 1, 32)} as token, ${bytes(first + 3, 10)} as nonce
        from unnest($${first}::text::bigint[], $${first + 2}::text::bigint[]${others.join("")})
          with ordinality as u (id, owner${names.join("")}, place)) c`;
}

/** A lease `l` that a proof `c` names. */
export const provenBy = "l.id = c.id and l.token = c.token and l.owner = c.owner and l.nonce = c.nonce";

/**
 * The leases that proofs `c` name, that fit the condition and that nobody else is touching: one look by primary key for each proof,
 * locked as `f.tid`. The write that follows repeats the condition. The sub-select locks, so PostgreSQL cannot turn it into a join: on statistics of an empty table a join
 * would walk all leases for each proof.
 */
export function freeLease(sql: SqlContext, condition: string): string {
  return `lateral (
        select l.ctid as tid from ${sql.table("lease")} l where ${provenBy} and ${condition}
        for update skip locked) f`;
}

/**
 * The lease of one proof, locked, waiting for whoever holds it, as `k`; and the condition under which it is still valid, to be
 * checked after the wait. PostgreSQL re-checks a WHERE after a wait only when the row changed, so a blocker that rolled back or
 * only locked would let an expired lease through: lock first, compare after. The clock stands bare in the comparison with `k`; as a
 * sub-select of its own it would be read before the wait. The row is written by its id, not by the address that was locked: a renewal
 * that committed meanwhile has moved it.
 */
export function lockedLease(sql: SqlContext): { readonly k: string; readonly valid: string } {
  return {
    k: `k as materialized (
      select id, token, owner, nonce, expires_at from ${sql.table("lease")} where id = $1::text::bigint for update
    )`,
    valid: `l.id = (select id from k where k.token = $2::text::bytea and k.owner = $3::text::bigint and k.nonce = $4::text::bytea
        and k.expires_at > ${sql.clock})`,
  };
}

/** Parameters 1 to 4 for {@link lockedLease}. */
export function oneLeaseArguments(lease: LeaseProof): SqlValue[] {
  return [lease.id.row, `\\x${lease.tokenHash}`, nameHash(lease.owner), `\\x${lease.id.nonce}`];
}
