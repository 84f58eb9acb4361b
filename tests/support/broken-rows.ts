/**
 * Selects what no statement may leave behind in a Jobs schema, whatever happened: id, and what is wrong with the row. The tables that jobs pass
 * through have no constraints of their own that say so.
 *
 * @param schema the schema's name, quoted where it must be; default: the search path's
 */
export function brokenRows(schema?: string): string {
  const at = schema === undefined ? "" : `${schema}.`;
  return `
  select id::text as id, 'ready without an attempt left' as what from ${at}ready where attempt >= max_attempts
  union all select id::text, 'a generation below the attempts' from ${at}ready where generation < attempt
  union all select id::text, 'a generation below the attempts' from ${at}lease where generation < attempt
  union all select id::text, 'more attempts than allowed' from ${at}lease where attempt > max_attempts
  union all select o.id::text, 'more attempts than allowed' from ${at}outcome o join ${at}jobs j using (id) where o.attempt > j.max_attempts
  union all select o.id::text, 'exhausted with attempts left'
    from ${at}outcome o join ${at}jobs j using (id) where o.operation = 'r' and o.attempt < j.max_attempts
  union all select id::text, 'a queue without a name' from ${at}jobs where queue not in (select hash from ${at}name)
  union all select id::text, 'an attempt out of its bounds' from ${at}ready where attempt < 0
  union all select id::text, 'an attempt out of its bounds' from ${at}lease where attempt < 1
  union all select id::text, 'half a settlement' from ${at}ready where (settled_owner is null) <> (settled_token is null)
  union all select id::text, 'half a settlement' from ${at}lease where (settled_owner is null) <> (settled_token is null)
  union all select id::text, 'a token that is no hash' from ${at}lease where octet_length(token) <> 32
  union all select id::text, 'an unknown end' from ${at}outcome where state not in ('s', 'f') or operation not in ('c', 'f', 'r')
  union all select id::text, 'an end without its settlement' from ${at}outcome
    where (operation = 'r') <> (token is null) or (token is null) <> (owner is null) or (operation = 'f') <> (retryable is not null)
  union all select id::text, 'a job that cannot be' from ${at}jobs
    where max_attempts not between 1 and 100 or octet_length(nonce) <> 10 or octet_length(intent) <> 32
  union all select l.id::text, 'limits that differ' from ${at}lease l join ${at}jobs j using (id) where l.max_attempts <> j.max_attempts
  union all select r.id::text, 'limits that differ' from ${at}ready r join ${at}jobs j using (id) where r.max_attempts <> j.max_attempts`;
}
