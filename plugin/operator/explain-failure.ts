import { DatabaseError, isSqlState, urlRefused } from "../store/drivers/database-error.ts";
import { Refused } from "./report.ts";
import { StepFailed } from "./steps.ts";

/**
 * Turns what a driver threw into words of ours. The server's own words are repeated only where they can name nothing but
 * tables and the like: elsewhere they may quote the user, the database or a row. Anything else that was thrown is a bug.
 */
export function explainFailure(error: unknown): Refused {
  const step = error instanceof StepFailed ? error.step : undefined;
  const failure = error instanceof StepFailed ? error.failure : error;
  if (!(failure instanceof DatabaseError)) throw error;
  const { code } = failure;
  if (code === urlRefused) {
    return new Refused(
      "invalid_input",
      "the client refuses LENSO_JOBS_DATABASE_URL, most likely its options behind the ?",
    );
  }
  if (step === undefined && refusedSettings.includes(code)) {
    return new Refused(
      "invalid_input",
      `the server refused a setting that the connection begins with (SQLSTATE ${code}): look at "options" in LENSO_JOBS_DATABASE_URL. Nothing was changed`,
    );
  }
  const known = explanations[code] ?? explanations[code.slice(0, 2)];
  if (!isSqlState(code)) {
    return new Refused(
      "database_unavailable",
      `the database that LENSO_JOBS_DATABASE_URL names cannot be reached (${code}): check its host and port, and that the server runs`,
    );
  }
  const during = step === undefined ? "" : ` during ${step.title}`;
  if (known !== undefined) {
    const [refusal, text] = known;
    const words = code === "42501" && step !== undefined ? `: ${failure.serverMessage}` : "";
    return new Refused(refusal, `${text}${during} (SQLSTATE ${code})${words}. Nothing was changed`);
  }
  const words = code.startsWith("42") ? `: ${failure.serverMessage}` : "";
  return new Refused(
    "database_refused",
    `PostgreSQL refused a statement${during} (SQLSTATE ${code})${words}. Nothing was changed`,
  );
}

/** Of a statement that is no step these would be our own mistakes; what a connection begins with is read from the URL. */
const refusedSettings: readonly string[] = ["22023", "42601", "42704"];

/** SQLSTATE, or its first two characters. A full code wins over its class. */
const explanations: Readonly<Record<string, readonly [Refused["code"], string]>> = {
  "28": ["permission_denied", "the server refused the user or the password of LENSO_JOBS_DATABASE_URL"],
  "3D": ["database_unavailable", "the server has no database of the name in LENSO_JOBS_DATABASE_URL"],
  "42501": ["permission_denied", "the role lacks a privilege"],
  "55P03": [
    "busy",
    "another transaction, or another lenso-jobs command, kept a lock: look at pg_stat_activity for long ones and run the command again",
  ],
  "40001": ["busy", "other transactions kept getting in the way: run the command again"],
  "40P01": ["busy", "other transactions kept getting in the way: run the command again"],
  "25006": [
    "database_unavailable",
    "the server is read-only, as a standby is: name the primary in LENSO_JOBS_DATABASE_URL",
  ],
  "0A000": [
    "database_unavailable",
    "the server is read-only, as a standby is, or does not support the statement",
  ],
  "57014": ["busy", "the server cancelled the statement, which took too long"],
  "08": ["database_unavailable", "the connection failed"],
  "53": ["database_unavailable", "the server is out of connections, memory or disk"],
  "57": ["database_unavailable", "the server is stopping or starting"],
  "58": ["database_unavailable", "the server met a system error"],
  XX: ["database_unavailable", "the server met an internal error"],
};
