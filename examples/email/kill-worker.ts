import { join } from "node:path";
import type { LeaseRequest } from "lenso-jobs-plugin/capability";
import type { Demo } from "./demo.ts";
import { DemoFailed } from "./narrate.ts";

/** Where in its work the worker is killed: when the mail server had the letter, or also its own records. */
export type KillPoint = "sent" | "recorded";

/** A killed worker. */
export interface DeadWorker {
  readonly processId: number;
  /** What ended it. */
  readonly signal: string | number | null;
  /** What it held: the demo sends its completion late, as a network would that had kept it for a while. */
  readonly lease: LeaseRequest;
}

/** Starts a worker in a process of its own and kills it with SIGKILL at the kill point, which it reports on its output. */
export async function killWorker(
  { database, mailServer, undo }: Demo,
  point: KillPoint,
): Promise<DeadWorker> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "worker-process.ts")], {
    env: {
      ...process.env,
      DEMO_DATABASE_URL: database.url,
      DEMO_SCHEMAS: JSON.stringify(database.schemas),
      DEMO_SMTP_PORT: String(mailServer.port),
      DEMO_STOP_AT: point,
    },
    stdin: "pipe", // closes when this process ends, and the worker ends then too
    stdout: "pipe",
    stderr: "inherit",
  });
  undo.defer(() => child.kill("SIGKILL"));
  const line = await firstLine(child.stdout);
  if (line === undefined) throw new DemoFailed("the worker process ended before it reported");
  child.kill("SIGKILL");
  await child.exited;
  return { processId: child.pid, signal: child.signalCode, lease: JSON.parse(line) as LeaseRequest };
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string | undefined> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true });
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  return undefined;
}
