import { type CapabilityHandle, createSecretsClient, RuntimeFailureError } from "../../capability/index.ts";
import { expectedDatabaseUrl, isDatabaseUrl } from "../store/drivers/database-url.ts";

const resolveTimeoutMs = 10_000;

/**
 * Asks the bound Secrets capability for the database URL. The value goes nowhere but to the driver.
 *
 * @throws RuntimeFailureError naming the reference, never the value.
 */
export async function resolveDatabaseUrl(
  handle: CapabilityHandle | undefined,
  reference: string,
  signal?: AbortSignal,
): Promise<string> {
  if (handle === undefined) {
    throw new RuntimeFailureError(
      "invalid_resolved_plan",
      "the requirement secrets (lenso.secrets@1) is not bound",
    );
  }
  const secrets = createSecretsClient(handle);
  const limit = AbortSignal.timeout(resolveTimeoutMs);
  const answer = await secrets.resolve(
    { reference },
    { timeoutMs: resolveTimeoutMs, signal: signal ? AbortSignal.any([signal, limit]) : limit },
  );
  if (answer.ok) return checkedUrl(answer.value.value, reference);
  if (answer.error.kind === "domain") {
    const { error } = answer.error;
    const code = typeof error === "string" ? error : error.code;
    throw new RuntimeFailureError("invalid_resolved_plan", `secret "${reference}" was refused: ${code}`);
  }
  const { kind, detail } = answer.error.error;
  throw new RuntimeFailureError(kind, `secret "${reference}" could not be resolved: ${detail}`);
}

function checkedUrl(value: string, reference: string): string {
  if (isDatabaseUrl(value)) return value;
  const detail = `secret "${reference}" must hold a database URL: ${expectedDatabaseUrl}`;
  throw new RuntimeFailureError("invalid_resolved_plan", detail);
}
