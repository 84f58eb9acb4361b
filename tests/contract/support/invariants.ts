import { expect } from "bun:test";
import type { ContractDatabase } from "./contract-database.ts";

const misplaced = `
  with place as (
    select id, 'ready' as place from ready
    union all select id, 'lease' from lease
    union all select id, 'outcome' from outcome
  )
  select coalesce(j.id, p.id)::text as id, string_agg(p.place, ' and ') as places
  from jobs j full join place p on p.id = j.id
  group by 1, j.id
  having count(p.place) <> 1 or j.id is null`;

/** What no statement may leave behind, whatever happened. */
const broken = `
  select id::text as id, 'ready without an attempt left' as what from ready where attempt >= max_attempts
  union all select id::text, 'a generation below the attempts' from ready where generation < attempt
  union all select id::text, 'a generation below the attempts' from lease where generation < attempt
  union all select id::text, 'more attempts than allowed' from lease where attempt > max_attempts
  union all select o.id::text, 'more attempts than allowed' from outcome o join jobs j using (id) where o.attempt > j.max_attempts
  union all select o.id::text, 'exhausted with attempts left'
    from outcome o join jobs j using (id) where o.operation = 'r' and o.attempt < j.max_attempts
  union all select id::text, 'a queue without a name' from jobs where queue not in (select hash from name)
  union all select id::text, 'an attempt out of its bounds' from ready where attempt < 0
  union all select id::text, 'an attempt out of its bounds' from lease where attempt < 1
  union all select id::text, 'half a settlement' from ready where (settled_owner is null) <> (settled_token is null)
  union all select id::text, 'half a settlement' from lease where (settled_owner is null) <> (settled_token is null)
  union all select id::text, 'a token that is no hash' from lease where octet_length(token) <> 32
  union all select id::text, 'an unknown end' from outcome where state not in ('s', 'f') or operation not in ('c', 'f', 'r')
  union all select id::text, 'an end without its settlement' from outcome
    where (operation = 'r') <> (token is null) or (token is null) <> (owner is null) or (operation = 'f') <> (retryable is not null)
  union all select id::text, 'a job that cannot be' from jobs
    where max_attempts not between 1 and 100 or octet_length(nonce) <> 10 or octet_length(intent) <> 32
  union all select l.id::text, 'limits that differ' from lease l join jobs j using (id) where l.max_attempts <> j.max_attempts
  union all select r.id::text, 'limits that differ' from ready r join jobs j using (id) where r.max_attempts <> j.max_attempts`;

/** Each job is in exactly one of ready, lease and outcome, and nothing is there that belongs to no job. */
export async function expectEachJobInOnePlace(database: ContractDatabase): Promise<void> {
  expect(await database.query(misplaced)).toEqual([]);
  expect(await database.query(broken)).toEqual([]);
}
