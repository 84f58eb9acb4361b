import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createManageAdapter } from "../app/create-manage-adapter.ts";
import { defineManage, type Manage, type OperationsByName } from "../app/define-manage.ts";
import { type RunningApp, startApp } from "../app/start-app.ts";
import { CommandFailure } from "./command-failure.ts";
import { describeError } from "./describe-error.ts";
import { type AppRoot, loadAppRoot } from "./load-app-root.ts";
import { confirmByElicitation, createMcpServer } from "./mcp-server.ts";

/** What the server has of the process that it runs in. */
export interface McpIo {
  readonly stdin: Readable;
  /** For the protocol alone. */
  readonly stdout: Writable;
  log(line: string): void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts when the process has to end: calls in flight are aborted. */
  readonly signal: AbortSignal;
}

/**
 * Serves an application's `mcpOperations` as MCP tools until its client closes the input or the signal aborts, then stops the
 * application. A cancelled tool call aborts that call's signal and does nothing else.
 *
 * Calls that are in flight when the input ends may take 10 s more before they are aborted, and 5 s after that.
 *
 * @throws CommandFailure `root-not-found`, `config-failed`, `config-invalid` or `start-failed`
 */
export async function serveMcp(folder: string, io: McpIo): Promise<void> {
  const root = await loadAppRoot(folder, io.environment);
  const { manage, mcpOperations } = root;
  if (manage === undefined || mcpOperations === undefined)
    throw new CommandFailure(3, "config-invalid", "tasks.config.ts: manage and mcpOperations: missing");
  const app = await startApp(root).catch((error: unknown) => {
    const what = describeError(error, io.environment);
    throw new CommandFailure(1, "start-failed", `the application did not start: ${what}`);
  });
  try {
    if (!io.signal.aborted) await serve(app, { ...root, manage, mcpOperations }, io);
  } finally {
    await app.stop();
  }
}

type ServedRoot = AppRoot & { readonly manage: Manage; readonly mcpOperations: OperationsByName };

async function serve(app: RunningApp, root: ServedRoot, io: McpIo): Promise<void> {
  const ending = new AbortController();
  const adapter = createManageAdapter({
    running: app,
    manage: defineManage({ plugin: root.manage.plugin, operations: root.mcpOperations }),
    canList: () => true,
    confirm: (call) => confirmByElicitation(server, call),
    ...(root.approve ? { approve: root.approve } : {}),
    maxOutputBytes,
    onError: (error, name) => io.log(`${name}: ${describeError(error, io.environment)}`),
  });
  const { server, idle } = await createMcpServer({ adapter, signal: ending.signal });
  // What the SDK says of a message may quote it.
  server.onerror = (error) => io.log(`protocol: ${error.name}`);
  const end = untilEnd(io);
  await server.connect(new StdioServerTransport(io.stdin, io.stdout));
  io.log("serving; the end of standard input, SIGTERM or Ctrl-C ends it");
  await end;

  // A request that came with the last bytes is taken up in this turn.
  await new Promise((resolve) => setImmediate(resolve));
  if (!io.signal.aborted) await Promise.race([idle(), until(io.signal, 10_000)]);
  ending.abort();
  await Promise.race([idle(), until(undefined, 5000)]);
  await new Promise((resolve) => setImmediate(resolve)); // the last answers are written in this turn
  await server.close();
}

const maxOutputBytes = 262_144;

/** Resolves when nobody asks any more: at the end of the input, when the output breaks, or at the signal. */
async function untilEnd({ stdin, stdout, signal }: McpIo): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => resolve();
    for (const event of ["end", "close", "error"] as const) stdin.once(event, done);
    stdout.once("error", done);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done, { once: true });
  });
}

async function until(signal: AbortSignal | undefined, ms: number): Promise<void> {
  await sleep(ms, undefined, { ref: false, ...(signal ? { signal } : {}) }).catch(() => undefined);
}
