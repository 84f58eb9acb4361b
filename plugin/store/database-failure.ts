import { RuntimeFailureError, type RuntimeFailureKind } from "../../capability/index.ts";
import { DatabaseError, isSqlState } from "./drivers/database-error.ts";

/** What a refusal of the database means for the call at hand, and what the store does about it. */
export interface DatabaseFailure {
  readonly kind: RuntimeFailureKind;
  readonly detail: string;
  /** Try the statement again at once; it had no effect. */
  readonly retry?: true;
  /** One element of a batch may be the cause: send them one by one. */
  readonly split?: true;
  /** The connections are of no use any more: open new ones. */
  readonly reconnect?: true;
  /** The password may have been rotated: resolve the secret anew. */
  readonly credentials?: true;
}

const unavailable = "unavailable";
const refusedSetting =
  'the server refused a setting that the connection begins with: look at "options" in the database URL; where there are none, run lenso-jobs check';
const lostStatement =
  "a prepared statement was not where it was prepared, as behind a transaction pooler: set transaction_pooler: true";

/** SQLSTATE, or its first two characters, to meaning. A full code wins over its class. */
const meanings: Readonly<Record<string, DatabaseFailure>> = {
  "40001": { kind: unavailable, detail: "serialization failure, repeatedly", retry: true },
  "40P01": { kind: unavailable, detail: "deadlock, repeatedly", retry: true },
  "55P03": { kind: unavailable, detail: "a row stayed locked by somebody else", split: true },
  "57014": { kind: unavailable, detail: "the statement was cancelled or took too long", split: true },
  "25006": { kind: unavailable, detail: "the server is read-only, as after a failover", reconnect: true },
  "22023": { kind: unavailable, detail: refusedSetting, split: true },
  "42601": { kind: unavailable, detail: refusedSetting },
  "42704": { kind: unavailable, detail: refusedSetting },
  "26000": { kind: unavailable, detail: lostStatement },
  "42P05": { kind: unavailable, detail: lostStatement },
  "08P01": { kind: unavailable, detail: "the connection failed, perhaps in a pooler, whose log says why" },
  "28": { kind: unavailable, detail: "the database refused the credentials", credentials: true },
  "08": { kind: unavailable, detail: "the connection failed" },
  "53": { kind: unavailable, detail: "the server is out of resources" },
  "57": { kind: unavailable, detail: "the server ended the session, stops or starts" },
  "58": { kind: unavailable, detail: "the server met a system error" },
  XX: { kind: unavailable, detail: "the server met an internal error" },
  "3D": { kind: unavailable, detail: "the database does not exist" },
  "3F": { kind: unavailable, detail: "the schema is gone: run lenso-jobs check" },
  "42": { kind: unavailable, detail: "the schema is not as its migrations made it: run lenso-jobs check" },
  "42501": { kind: unavailable, detail: "the role lacks a privilege: run lenso-jobs check" },
  "22": { kind: "plugin_failure", detail: "the database refused a value", split: true },
  "23": { kind: "plugin_failure", detail: "the database refused a row", split: true },
};

/** Maps what a driver threw. A code that is no SQLSTATE is the connection's own trouble; anything unknown is a bug. */
export function databaseFailure(error: unknown): DatabaseFailure {
  if (!(error instanceof DatabaseError)) {
    const what = error instanceof Error ? error.constructor.name : typeof error;
    return { kind: "plugin_failure", detail: `unexpected ${what} in the store` };
  }
  const { code } = error;
  const meaning = meanings[code] ?? meanings[code.slice(0, 2)];
  if (isSqlState(code)) {
    return meaning
      ? { ...meaning, detail: `${meaning.detail} (SQLSTATE ${code})` }
      : {
          kind: "plugin_failure",
          detail: `the database refused a statement (SQLSTATE ${code})`,
          split: true,
        };
  }
  return { kind: unavailable, detail: `the database cannot be reached (${code})` };
}

/** The same as an error that carries no text of the server's. */
export function toRuntimeFailure(error: unknown): RuntimeFailureError {
  if (error instanceof RuntimeFailureError) return error;
  const { kind, detail } = databaseFailure(error);
  return new RuntimeFailureError(kind, detail);
}
