import { SQL } from "bun";

/** Holds a transaction with a snapshot open while the work runs, as a backup or a forgotten console does. */
export async function withHeldTransaction<T>(databaseUrl: string, work: () => Promise<T>): Promise<T> {
  const sql = new SQL(databaseUrl, { max: 1 });
  try {
    return await sql.begin("isolation level repeatable read", async (held) => {
      await held`select pg_current_xact_id()`;
      return work();
    });
  } finally {
    await sql.close();
  }
}
