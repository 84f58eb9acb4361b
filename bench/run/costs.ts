import { readFile } from "node:fs/promises";
import type { SQL } from "bun";
import type { SideProcess } from "./side-process.ts";

/** What a piece of work cost, in all. */
export interface Costs {
  /** Transactions that wrote. */
  readonly writeTransactions: number;
  readonly walBytes: number;
  /** Of the server's processes that served clients; undefined where the server is on another machine. */
  readonly serverCpuMicroseconds: number | undefined;
  readonly clientCpuMicroseconds: number;
}

/** Runs work and answers with its costs. Whatever else the server does meanwhile counts as well: leave it alone. */
export async function withCosts<T>(
  sql: SQL,
  processes: readonly SideProcess[],
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly costs: Costs }> {
  const before = await read(sql, processes);
  const value = await work();
  const after = await read(sql, processes);
  let serverCpu: number | undefined = 0;
  for (const [pid, used] of after.backends) {
    if (used === undefined) serverCpu = undefined;
    else if (serverCpu !== undefined) serverCpu += used - (before.backends.get(pid) ?? 0);
  }
  return {
    value,
    costs: {
      writeTransactions: after.transactions - before.transactions,
      walBytes: after.walBytes - before.walBytes,
      serverCpuMicroseconds: serverCpu,
      clientCpuMicroseconds: after.clientCpu - before.clientCpu,
    },
  };
}

async function read(sql: SQL, processes: readonly SideProcess[]) {
  const [row] = await sql`
    select (pg_current_wal_lsn() - '0/0'::pg_lsn)::text as wal,
      pg_snapshot_xmax(pg_current_snapshot())::text as transactions,
      array(select pid from pg_stat_activity where datname = current_database()
            and backend_type = 'client backend' and pid <> pg_backend_pid())::text[] as pids`;
  const backends = new Map<string, number | undefined>();
  for (const pid of row.pids as string[]) backends.set(pid, await cpuOf(pid));
  const usages = await Promise.all(processes.map((process) => process.usage()));
  return {
    walBytes: Number(row.wal),
    transactions: Number(row.transactions),
    backends,
    clientCpu: usages.reduce((sum, { cpuMicroseconds }) => sum + cpuMicroseconds, 0),
  };
}

/** The first figure of schedstat: nanoseconds on a processor. */
async function cpuOf(pid: string): Promise<number | undefined> {
  try {
    return Number((await readFile(`/proc/${pid}/schedstat`, "utf8")).split(" ")[0]) / 1000;
  } catch {
    return undefined;
  }
}
