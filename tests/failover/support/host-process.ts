import { join } from "node:path";
import type { TestDriver } from "../../postgres/support/jobs-host.ts";
import { startTellingProcess, type TellingProcess } from "../../task-faults/support/telling-process.ts";
import type { NetworkHost } from "./network.ts";

export interface HostProcessOptions {
  readonly url: string;
  readonly driver: TestDriver;
  readonly leaseSeconds: number;
}

/** What a process is asked for. */
export type HostProcessRequest =
  /** Start the worker. It tells `working`. */
  | { readonly do: "work" }
  /** Complete this job under the lease that its claim here got, as a worker that heard nothing. It tells `settled`. */
  | { readonly do: "settle"; readonly jobId: string };

/** What a job of these tests has to do. */
export interface HostWork {
  /** The handler of the first attempt never ends by itself; others end at once. */
  readonly hold: boolean;
  /** Otherwise it works that long. */
  readonly ms: number;
}

/** Where such a process takes connections, for others to see whether they reach it. */
export const meetingPort = 4000;

const program = join(import.meta.dir, "host-program.ts");

/** A composed host and a worker in a process of their own, on a host of the network. */
export function startHostProcess(host: NetworkHost, options: HostProcessOptions): TellingProcess {
  return startTellingProcess(host.command([process.execPath, program, JSON.stringify(options)]));
}
