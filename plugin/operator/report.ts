import type { DriverName } from "../store/drivers/driver.ts";
import { explainState } from "../store/schema/schema-problem.ts";
import type { SchemaState } from "../store/schema/schema-state.ts";

export type OperatorCommand = "setup" | "upgrade" | "check" | "plan" | "fence";

export interface OperatorOptions {
  /** The role's URL, a secret: it is in no report. Setting up and upgrading take the role that owns the schema, or is to. */
  readonly databaseUrl: string;
  /** The Instance's schema, as in its configuration. */
  readonly schema: string;
  /** PostgreSQL client. Default: `bun` under Bun, otherwise `pg`. */
  readonly driver?: DriverName;
}

/** What every report says; `message` is for a person. */
export interface Report<Command extends OperatorCommand = OperatorCommand> {
  readonly command: Command;
  readonly schema: string;
  readonly message: string;
}

/** Why a command did nothing. */
export type RefusalCode =
  | "setup_required"
  | "unmanaged"
  | "upgrade_required"
  | "ahead"
  | "diverged"
  | "not_owned"
  | "unsupported_database"
  | "invalid_input"
  | "unknown_role"
  | "busy"
  | "permission_denied"
  | "database_unavailable"
  | "database_refused";

/** A command that was refused or failed: nothing was changed. `next` is the command that leads on, where there is one. */
export type Refusal<Command extends OperatorCommand = OperatorCommand> = Report<Command> & {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly next: string | null;
};

/** Thrown inside a command so that its transaction rolls back; becomes the report. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: RefusalCode;
  readonly next: string | null;

  constructor(code: RefusalCode, message: string, next: string | null = null) {
    super(message);
    this.code = code;
    this.next = next;
  }
}

const refusalOfState = {
  absent: "setup_required",
  unmanaged: "unmanaged",
  behind: "upgrade_required",
  ahead: "ahead",
  diverged: "diverged",
  not_owned: "not_owned",
} as const;

/** The refusal that a state means to every command that needs a usable schema. */
export function refuseState(state: Exclude<SchemaState, { kind: "current" }>, schema: string): Refused {
  const { text, next } = explainState(state, schema) ?? {
    text: `schema "${schema}" is ahead of this build`,
    next: null,
  };
  return new Refused(refusalOfState[state.kind], text, next);
}

/** Refuses a change by a role that does not own the schema. */
export function refuseUnlessOwned(
  state: { readonly owned: boolean; readonly owner: string; readonly role: string },
  schema: string,
): void {
  if (state.owned) return;
  throw new Refused(
    "not_owned",
    `role "${state.role}" does not own PostgreSQL schema "${schema}" and everything in it: run this command as its owner "${state.owner}"`,
  );
}
