import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { packageVersion } from "../../plugin/package-version.ts";
import type { ManageAdapter, OperationCall, OperationOutcome } from "../app/create-manage-adapter.ts";
import type { OperationDescription } from "../app/describe-operation.ts";
import { CommandFailure } from "./command-failure.ts";

export interface McpServerOptions {
  /** Whose operations become tools. Its `confirm` is {@link confirmByElicitation}. */
  readonly adapter: ManageAdapter;
  /** Aborts every call in flight. */
  readonly signal: AbortSignal;
}

/** An MCP server whose tools are an adapter's operations. */
export interface McpServer {
  readonly server: Server;
  /** Resolves when no call is in flight. */
  idle(): Promise<void>;
}

/** @throws CommandFailure `config-invalid` for an operation whose input is no object: a tool takes nothing else. */
export async function createMcpServer({ adapter, signal }: McpServerOptions): Promise<McpServer> {
  const tools = (await adapter.catalog()).map(toolOf);
  const server = new Server(
    { name: "lenso-jobs-plugin", version: packageVersion },
    { capabilities: { tools: {} } },
  );
  const inFlight = new Set<Promise<unknown>>();
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal: cancelled }) => {
    const call = adapter.invoke(params.name, params.arguments ?? {}, {
      signal: AbortSignal.any([signal, cancelled]),
    });
    inFlight.add(call);
    try {
      return resultOf(await call);
    } finally {
      inFlight.delete(call);
    }
  });
  return {
    server,
    async idle() {
      while (inFlight.size > 0) await Promise.allSettled(inFlight);
    },
  };
}

/** Asks the client's person, where the client can do that. */
export async function confirmByElicitation(
  server: Server,
  { operation, signal }: OperationCall,
): Promise<boolean> {
  if (!server.getClientCapabilities()?.elicitation) return false;
  const { action, content } = await server.elicitInput(
    {
      message: operation.confirmation ?? "",
      requestedSchema: {
        type: "object",
        properties: { confirmed: { type: "boolean", title: "Yes, do it" } },
        required: ["confirmed"],
      },
    },
    { signal },
  );
  return action === "accept" && content?.["confirmed"] === true;
}

function toolOf(described: OperationDescription): Tool {
  const { name, description, effect, destructive, retry, inputSchema, inputSchemaProblem } = described;
  const schema = typeof inputSchema === "object" && inputSchema !== null ? inputSchema : {};
  const { type = "object" } = schema as { readonly type?: unknown };
  if (type !== "object")
    throw new CommandFailure(
      3,
      "config-invalid",
      `mcpOperations.${name}: a tool's input has to be an object`,
    );
  return {
    name,
    description:
      inputSchemaProblem === undefined
        ? description
        : `${description} (Its input is not described: ${inputSchemaProblem}.)`,
    inputSchema: { ...schema, type: "object" },
    annotations: {
      readOnlyHint: effect === "read",
      destructiveHint: destructive,
      idempotentHint: retry === "safe",
    },
  };
}

/** A failure is a tool's answer as well, so that the model sees its code. */
function resultOf(outcome: OperationOutcome): CallToolResult {
  const told = outcome.ok ? outcome.data : { error: outcome.error };
  return {
    content: [{ type: "text", text: JSON.stringify(told) }],
    ...(isObject(told) ? { structuredContent: told } : {}),
    ...(outcome.ok ? {} : { isError: true }),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
