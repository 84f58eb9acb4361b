import { onlyProcess, type Stand } from "./scenario.ts";

/** Puts jobs into the cleared tables: straight through SQL where that is known, otherwise by the side's own bulk. */
export async function waitingJobs(stand: Stand, count: number): Promise<void> {
  const { spec, sql, schema } = stand;
  await spec.tables.clear(sql, schema);
  if (spec.tables.fill !== undefined) {
    await spec.tables.fill(sql, schema, { due: count });
    return;
  }
  const [process = onlyProcess(stand)] = stand.processes;
  const atOnce = Math.min(1000, count);
  await process.ask("bulk", { count: atOnce, times: Math.ceil(count / atOnce) });
}
