import {
  type CapabilityHandle,
  createSecretsClient,
  RuntimeFailureError,
  type SecretsClient,
} from "../../capability/index.ts";
import { expectedDatabaseUrl, isDatabaseUrl } from "../store/drivers/database-url.ts";
import { faultInUrlOptions } from "../store/drivers/database-url-options.ts";
import type { DriverName } from "../store/drivers/driver.ts";

const resolveTimeoutMs = 10_000;

/**
 * Asks the bound Secrets capability for a database URL that the driver can take. The value goes nowhere but to the driver.
 *
 * @throws RuntimeFailureError naming the reference, never the value.
 */
export async function resolveDatabaseUrl(
  handle: CapabilityHandle | undefined,
  reference: string,
  driver: DriverName,
  signal?: AbortSignal,
): Promise<string> {
  if (handle === undefined) {
    throw new RuntimeFailureError(
      "invalid_resolved_plan",
      "the requirement secrets (lenso.secrets@1) is not bound",
    );
  }
  const answer = await withinDeadline(createSecretsClient(handle), reference, signal);
  if (answer.ok) return checkedUrl(answer.value.value, reference, driver);
  if (answer.error.kind === "domain") {
    const { error } = answer.error;
    const code = typeof error === "string" ? error : error.code;
    throw new RuntimeFailureError(
      "invalid_resolved_plan",
      `secret "${reference}" was refused: ${code}${advice[code] ?? ""}`,
    );
  }
  const { kind, detail } = answer.error.error;
  throw new RuntimeFailureError(kind, `secret "${reference}" could not be resolved: ${detail}`);
}

/** What is behind a reference, only the provider knows: a variable's name, for example. */
const advice: Readonly<Record<string, string>> = {
  unknown_reference:
    "; the Secrets provider has no such reference, or the variable that it reads for it is not set or empty",
};

/** Waits for the provider no longer than the deadline or the signal, whatever the provider does with them. */
function withinDeadline(
  secrets: SecretsClient,
  reference: string,
  signal: AbortSignal | undefined,
): Promise<Awaited<ReturnType<SecretsClient["resolve"]>>> {
  return new Promise((resolve, reject) => {
    const ended = new AbortController();
    const release = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const end = (kind: "deadline_exceeded" | "cancelled", why: string): void => {
      release();
      reject(new RuntimeFailureError(kind, `secret "${reference}" could not be resolved: ${why}`));
      ended.abort();
    };
    const onAbort = (): void => end("cancelled", "the start was given up");
    const timer = setTimeout(() => end("deadline_exceeded", "no answer within 10 s"), resolveTimeoutMs);
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    secrets.resolve({ reference }, { signal: ended.signal }).then(resolve, reject).finally(release);
  });
}

function checkedUrl(value: string, reference: string, driver: DriverName): string {
  if (!isDatabaseUrl(value)) {
    const detail = `secret "${reference}" must hold a database URL: ${expectedDatabaseUrl}`;
    throw new RuntimeFailureError("invalid_resolved_plan", detail);
  }
  const fault = faultInUrlOptions(value, driver);
  if (fault === undefined) return value;
  throw new RuntimeFailureError(
    "invalid_resolved_plan",
    `secret "${reference}" holds a database URL whose ${fault}`,
  );
}
