import { join } from "node:path";
import type { Behaviour } from "./fault-tasks.ts";
import type { ProviderKind } from "./open-provider.ts";
import { startTellingProcess, type TellingProcess } from "./telling-process.ts";

export interface WorkerProcessOptions {
  readonly kind: ProviderKind;
  /** The database as the handlers' recorders reach it. */
  readonly url: string;
  /** Each has a provider of its own. */
  readonly workers: readonly WorkerOptions[];
  /** How long a SIGTERM waits for the handlers. Default: as long as they need. */
  readonly drainMs?: number;
}

export interface WorkerOptions {
  readonly queue: string;
  readonly behaviour: Behaviour;
  /** The database as this worker reaches it, by way of a proxy. Default: the recorders' way. */
  readonly proxyUrl?: string;
  /** Default 1. */
  readonly concurrency?: number;
  /** Handlers neither record nor tell that they run: for many jobs, and where the recorder's connection would break too. Default false. */
  readonly quiet?: boolean;
  readonly timeoutMs?: number;
  readonly leaseSeconds?: number;
  readonly signals?: boolean;
  /** Opens connections as they are needed. Default false. */
  readonly frugal?: boolean;
  /** Over the options that all providers of these tests share. */
  readonly changes?: {
    readonly heartbeatSeconds?: number;
    readonly pollIntervalMs?: number;
    readonly superviseIntervalSeconds?: number;
  };
}

export type WorkerProcess = TellingProcess;

const program = join(import.meta.dir, "worker-program.ts");

/** Starts a worker process; disposing of it kills it. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  return startTellingProcess([process.execPath, program, JSON.stringify(options)]);
}
