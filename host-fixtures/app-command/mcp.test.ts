import { afterAll, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { type CallToolResult, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { appFolder, eventsIn, runAppProcess } from "../testing/run-app-process.ts";

const clients: Client[] = [];
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
});

interface ConnectOptions {
  /** What the client's person answers. Default: the client cannot ask. */
  readonly answer?: { readonly action: "accept" | "decline"; readonly confirmed?: boolean };
  readonly env?: Readonly<Record<string, string>>;
}

/** The SDK's own client, with the server as a process of its own. */
async function connect({ answer, env = {} }: ConnectOptions = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [fileURLToPath(new URL("mcp.ts", import.meta.url)), "--root", appFolder],
    env: { ...(process.env as Record<string, string>), APP_TRACE: "1", ...env },
    stderr: "pipe",
  });
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { capabilities: answer ? { elicitation: { form: {} } } : {} },
  );
  const questions: string[] = [];
  if (answer) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message);
      const { action, confirmed } = answer;
      return confirmed === undefined ? { action } : { action, content: { confirmed } };
    });
  }
  let stderr = "";
  const waiting = new Set<() => void>();
  transport.stderr?.on("data", (bytes: Buffer) => {
    stderr += bytes.toString();
    for (const look of waiting) look();
  });
  const broken: Error[] = [];
  client.onerror = (error) => broken.push(error);
  clients.push(client);
  await client.connect(transport);
  return {
    client,
    questions,
    /** What of the server's output was not the protocol. */
    broken,
    events: () => eventsIn(stderr),
    stderr: () => stderr,
    printed: (text: string) =>
      new Promise<void>((resolve) => {
        const look = (): void => void (stderr.includes(text) && resolve());
        waiting.add(look);
        look();
      }),
    async call(name: string, input: Record<string, unknown> = {}) {
      const { content, ...rest } = (await client.callTool({ name, arguments: input })) as CallToolResult;
      const [first] = content;
      if (first?.type !== "text") throw new Error("expected a text");
      return { ...rest, text: JSON.parse(first.text) as unknown };
    },
  };
}

const refused = (code: string) => {
  const error = { code, message: expect.any(String) };
  return { isError: true, text: { error }, structuredContent: { error } };
};

test("the tools are the allow-list, with JSON Schema and what a call of each means", async () => {
  const { client } = await connect();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["read", "write", "remove", "fail", "wait"]);
  expect(tools[1]).toEqual({
    name: "write",
    description: "Writes a note over the one of the same id.",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { id: { type: "string", minLength: 1, maxLength: 20 }, text: { type: "string" } },
      required: ["id", "text"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  });
  expect(tools[0]?.annotations).toEqual({ readOnlyHint: true, destructiveHint: false, idempotentHint: true });
});

test("calls answer JSON, refusals are tool errors with stable codes, and internals stay inside", async () => {
  const secret = ["CANARY", "internal"].join("-");
  const { call, stderr, broken } = await connect({ env: { APP_BREAK: `postgres://u:${secret}@db/x` } });
  expect(await call("write", { id: "a", text: "hi" })).toEqual({
    text: { id: "a", length: 2 },
    structuredContent: { id: "a", length: 2 },
  });
  expect(await call("read", { id: "a" })).toEqual({ text: "hi" });
  expect(await call("read", { id: 5 })).toEqual(refused("invalid-input"));
  expect(await call("read", { id: "a", actor: "root" })).toEqual(refused("invalid-input"));
  expect(await call("cancel")).toEqual(refused("unknown-operation"));
  expect(await call("remove", { id: "a" })).toEqual(refused("not-confirmed"));
  const failed = await call("fail");
  expect(failed).toEqual(refused("operation-failed"));
  expect(JSON.stringify(failed) + stderr()).not.toContain(secret);
  // Whatever the application printed went elsewhere.
  expect(broken).toEqual([]);
});

test("an operation that has to be confirmed is asked of the client's person, and only yes is yes", async () => {
  const yes = await connect({ answer: { action: "accept", confirmed: true } });
  expect(await yes.call("remove", { id: "first" })).toEqual({ text: null });
  expect(await yes.call("remove", { id: "first" })).toEqual(refused("note-missing"));
  expect(yes.questions).toEqual(["Remove the note for good?", "Remove the note for good?"]);
  const no = await connect({ answer: { action: "accept", confirmed: false } });
  expect(await no.call("remove", { id: "first" })).toEqual(refused("not-confirmed"));
});

test("cancelling a tool call aborts its signal, never calls cancel, and leaves the server serving", async () => {
  const { client, call, printed, events } = await connect();
  const controller = new AbortController();
  const waiting = client.callTool({ name: "wait", arguments: {} }, undefined, { signal: controller.signal });
  await printed("event: wait\n");
  controller.abort();
  await expect(waiting).rejects.toThrow();
  await printed("event: wait aborted\n");
  expect(await call("read", { id: "first" })).toEqual({ text: "hello" });
  expect(events()).toEqual(["import", "start", "wait", "wait aborted"]);
});

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } },
};
const callOf = (id: number, name: string, input: object) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: input },
});
const lines = (...messages: object[]): string => messages.map((each) => `${JSON.stringify(each)}\n`).join("");

test("at the end of its input the process answers what it was asked, stops the application and exits", async () => {
  const server = runAppProcess("mcp", ["--root", appFolder]);
  await server.end(lines(initialize, callOf(2, "write", { id: "a", text: "hi" })));
  const { exitCode, stdout, stderr } = await server.ended;
  expect(exitCode).toBe(0);
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: number });
  expect(answers.map(({ id }) => id)).toEqual([1, 2]);
  expect(eventsIn(stderr)).toEqual(["import", "start", "stop"]);
});

test("SIGTERM aborts the calls in flight, stops the application and the process exits", async () => {
  const server = runAppProcess("mcp", ["--root", appFolder]);
  await server.send(lines(initialize, callOf(2, "wait", {})));
  await server.printed("event: wait\n");
  server.kill("SIGTERM");
  const { exitCode, stdout, stderr } = await server.ended;
  expect(exitCode).toBe(0);
  expect(stdout).toContain('"cancelled');
  expect(eventsIn(stderr)).toEqual(["import", "start", "wait", "wait aborted", "stop"]);
});

test("a server that cannot start says why on standard error, and its exit code says whose fault it is", async () => {
  const secret = ["CANARY", "start"].join("-");
  const broken = runAppProcess("mcp", ["--root", appFolder], {
    APP_START_FAILURE: `no https://x:${secret}@db`,
  });
  const absent = runAppProcess("mcp", ["--root", `${appFolder}/absent`]);
  const usage = runAppProcess("mcp", []);
  for (const [server, exitCode, said] of [
    [broken, 1, "mcp: start-failed: the application did not start: Error: no https://[hidden]"],
    [absent, 3, "mcp: root-not-found: "],
    [usage, 2, "mcp: invalid-usage: "],
  ] as const) {
    const { stdout, stderr, ...ended } = await server.ended;
    expect({ ...ended, stdout }).toEqual({ exitCode, stdout: "" });
    expect(stderr).toContain(said);
    expect(stderr).not.toContain(secret);
  }
});
