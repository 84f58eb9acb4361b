import { SQL } from "bun";

/** Connections of others, which leave none for anybody. */
export interface Crowd {
  /** Whether the server said that it had no connection left. */
  readonly isFull: boolean;
  leave(): Promise<void>;
}

/** Opens connections until the server refuses one, or `limit` are open. */
export async function crowdServer(url: string, limit: number): Promise<Crowd> {
  const open: SQL[] = [];
  let isFull = false;
  while (!isFull && open.length < limit) {
    const some = Array.from({ length: 8 }, () => new SQL(url, { max: 1, connectionTimeout: 10 }));
    open.push(...some);
    const came = await Promise.allSettled(some.map((sql) => sql`select 1`));
    isFull = came.some(({ status }) => status === "rejected");
  }
  return {
    isFull,
    leave: async () => void (await Promise.all(open.map((sql) => sql.close({ timeout: 0 })))),
  };
}
