import { expect } from "bun:test";
import { brokenRows } from "../../support/broken-rows.ts";
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

/** Each job is in exactly one of ready, lease and outcome, and nothing is there that belongs to no job. */
export async function expectEachJobInOnePlace(database: ContractDatabase): Promise<void> {
  expect(await database.query(misplaced)).toEqual([]);
  expect(await database.query(brokenRows())).toEqual([]);
}
