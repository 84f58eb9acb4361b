import { DatabaseError } from "../../plugin/store/drivers/database-error.ts";
import { adviseOnDatabase, type DatabaseHints } from "../../tasks/advise-on-database.ts";
import { SchemaUnfit } from "../../tasks/jobs/migration/verify-schema.ts";
import { JobHostError } from "./job-host-error.ts";

/**
 * What the database or its schema said, as the one error that callers know; any other error as it is. A role without rights is no outage, and no
 * repetition helps: it is `schema-unfit`.
 */
export function asHostError(cause: unknown, hints: DatabaseHints): unknown {
  if (cause instanceof SchemaUnfit) return new JobHostError("schema-unfit", { cause });
  if (!(cause instanceof DatabaseError)) return cause;
  const advice = adviseOnDatabase(cause, hints);
  return new JobHostError(cause.code === "42501" ? "schema-unfit" : "unavailable", { cause, advice });
}
