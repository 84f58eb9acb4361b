import type { ContractDatabase } from "../../contract/support/contract-database.ts";
import { until } from "../../contract/support/contract-database.ts";

/** Ends every connection of the plugin, whatever it is doing, and waits until the server has rolled back what they had begun. */
export async function killConnections(database: ContractDatabase): Promise<void> {
  const killed = await database.query<{ pid: number }>(`
    select pid, pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'lenso-jobs'`);
  const pids = killed.map(({ pid }) => pid);
  await until(async () => {
    const alive = await database.query("select from pg_stat_activity where pid = any ($1::int[])", [
      `{${pids.join()}}`,
    ]);
    return alive.length === 0;
  });
}
