import type { JsonValue } from "../../capability/index.ts";
import { createManageAdapter } from "../app/create-manage-adapter.ts";
import { defineManage } from "../app/define-manage.ts";
import type { Operation } from "../app/define-operation.ts";
import { type RunningApp, startApp } from "../app/start-app.ts";
import { validateInput } from "../app/validate-input.ts";
import { CommandFailure } from "./command-failure.ts";
import { describeError } from "./describe-error.ts";
import type { AppRoot } from "./load-app-root.ts";

export interface OperationCommand {
  readonly root: AppRoot;
  readonly name: string;
  readonly operation: Operation;
  readonly input: unknown;
  /** Whether the person said yes to the operation's confirmation. */
  readonly confirmed: boolean;
  readonly signal: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
  log(line: string): void;
}

/**
 * Starts the application for one call and stops it again. Input is checked before anything starts.
 *
 * @throws CommandFailure with the outcome's code
 */
export async function callOperation(command: OperationCommand): Promise<JsonValue> {
  const { root, operation, confirmed, environment, log } = command;
  const validated = await validateInput(operation.input, command.input).catch((error: unknown) => {
    throw new CommandFailure(
      1,
      "operation-failed",
      `the schema failed: ${describeError(error, environment)}`,
    );
  });
  if (!validated.ok) throw failed(validated.error);
  if (operation.confirmation !== undefined && !confirmed)
    throw new CommandFailure(2, "not-confirmed", `${operation.confirmation} Say so with --yes`);

  const app = await startApp(root).catch((error: unknown) => {
    const what = describeError(error, environment);
    throw new CommandFailure(1, "start-failed", `the application did not start: ${what}`);
  });
  try {
    return await callRunning(app, command);
  } finally {
    // The answer stands: a stop that fails is told beside it.
    await app
      .stop()
      .catch((error: unknown) =>
        log(`the application did not stop cleanly: ${describeError(error, environment)}`),
      );
  }
}

async function callRunning(app: RunningApp, command: OperationCommand): Promise<JsonValue> {
  const { root, name, operation, input, confirmed, signal, environment, log } = command;
  const adapter = createManageAdapter({
    running: app,
    manage: defineManage({ plugin: operation.plugin, operations: { [name]: operation } }),
    canList: () => true,
    confirm: () => confirmed,
    ...(root.approve ? { approve: root.approve } : {}),
    maxOutputBytes,
    onError: (error) => log(`${name}: ${describeError(error, environment)}`),
  });
  const outcome = await adapter.invoke(name, input, { signal });
  if (outcome.ok) return outcome.data;
  throw failed(outcome.error);
}

const maxOutputBytes = 4_194_304;

function failed({ code, message }: { readonly code: string; readonly message: string }): CommandFailure {
  return new CommandFailure(inputCodes.has(code) ? 2 : 1, code, message);
}

const inputCodes: ReadonlySet<string> = new Set(["invalid-input", "not-confirmed"]);
