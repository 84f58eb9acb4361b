/**
 * Server settings of every connection, part of the engine's design.
 *
 * The hot tables are empty or full at the moment when statistics are taken, so the planner must not choose by them: one
 * generic plan by index and nested loop for each statement, never a sequential or bitmap scan, hash or merge. Those switches inflate
 * the estimated costs, which would start JIT compilation for nothing. The rest makes values read the same everywhere and
 * keeps a commit durable.
 */
export const engineSettings: Readonly<Record<string, string>> = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
  default_transaction_isolation: "read committed",
  synchronous_commit: "on",
  search_path: "pg_catalog",
  TimeZone: "UTC",
  DateStyle: "ISO, YMD",
  IntervalStyle: "postgres",
};

/** {@link engineSettings} and the time limits of one kind of connection. */
export function sessionSettings(lane: {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
}): Record<string, string> {
  return {
    ...engineSettings,
    application_name: "lenso-jobs",
    statement_timeout: String(lane.statementTimeoutMs),
    lock_timeout: String(lane.lockTimeoutMs),
    idle_in_transaction_session_timeout: "60000",
  };
}

/** Names of what a connection of ours begins with and a pooler may refuse. The client `pg` sends all of it as `options`. */
export const startupParameters: readonly string[] = [
  "options",
  ...Object.keys(sessionSettings({ statementTimeoutMs: 0, lockTimeoutMs: 0 })).filter(
    (name) => name !== "application_name", // which every pooler takes
  ),
];
