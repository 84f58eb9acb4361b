import type { QueueConnection, QueueHears } from "./queue.ts";
import { startSupervision } from "./supervise.ts";
import type { PostgresBackend } from "./worker-backend.ts";

/** What the workers of one provider share: the listener and the supervision, which run while there is a worker. */
export interface WorkerServices {
  /** Resolves after the first look at silent claims, whether or not it could be made. */
  join(backend: PostgresBackend): Promise<void>;
  leave(backend: PostgresBackend): Promise<void>;
  /** Tells the workers of this provider that a job is to be cancelled, before the database does. */
  cancelRequested(jobId: string | undefined): void;
}

export function createWorkerServices(
  connection: QueueConnection,
  superviseIntervalSeconds: number,
  onError: (error: unknown) => void,
): WorkerServices {
  const backends = new Set<PostgresBackend>();
  let running: ReturnType<typeof startServices> | undefined;
  let stopping: Promise<void> = Promise.resolve();
  const hears: QueueHears = {
    onWork() {
      for (const backend of backends) backend.wake();
    },
    onCancelRequest(jobId) {
      for (const backend of backends) backend.cancelRequested(jobId);
    },
  };
  return {
    join(backend) {
      backends.add(backend);
      running ??= startServices(connection, superviseIntervalSeconds, hears, onError);
      return running.firstLook;
    },
    leave(backend) {
      backends.delete(backend);
      if (backends.size === 0 && running !== undefined) {
        stopping = running.stop();
        running = undefined;
      }
      return stopping;
    },
    cancelRequested: hears.onCancelRequest,
  };
}

function startServices(
  connection: QueueConnection,
  superviseIntervalSeconds: number,
  hears: QueueHears,
  onError: (error: unknown) => void,
): { readonly firstLook: Promise<void>; stop(): Promise<void> } {
  let stopped = false;
  let listening: Promise<{ stop(): Promise<void> } | undefined> | undefined;
  // Tried again with every look that succeeds, until the database has been reached once; from then on the listener heals itself.
  const listen = (): void => {
    if (stopped) return;
    listening ??= connection.listen(hears).catch(() => {
      listening = undefined;
      return undefined;
    });
  };
  listen();
  const onLook = (): void => {
    listen();
    hears.onWork();
  };
  const supervision = startSupervision(connection, superviseIntervalSeconds, onLook, onError);
  return {
    firstLook: supervision.firstLook,
    async stop() {
      stopped = true;
      await supervision.stop();
      await (await listening)?.stop();
    },
  };
}
