import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonValue } from "../../capability/index.ts";
import { canonicalJson } from "../canonical/canonical-json.ts";
import { type JsonLimits, ownJson } from "../canonical/own-json.ts";
import { pointerText } from "../canonical/pointer-text.ts";
import type { JobValidationIssue } from "../submission/job-submit-outcome.ts";
import type { JobSchema } from "./job-schema.ts";

/** What a schema says of a value: its output as owned JSON, or why not. */
export type JobValidation =
  | { readonly ok: true; readonly value: JsonValue }
  | {
      readonly ok: false;
      readonly issues: readonly JobValidationIssue[];
      /** Who refuses: `json`, the rules of canonical JSON, whose message names place and rule and never a value; or the schema, in its own words. */
      readonly by: "json" | "schema";
    };

/** Most issues that are reported of one value. */
export const ISSUE_LIMIT = 100;

/**
 * Validates JSON by a schema, which works on a copy of its own. Its output has to be canonical JSON again, deeply frozen.
 *
 * @throws whatever the schema throws
 */
export async function validateValue(
  schema: JobSchema,
  value: unknown,
  limits?: JsonLimits,
): Promise<JobValidation> {
  const given = owned(value, limits);
  if (!given.ok) return given;
  const copy: unknown = JSON.parse(canonicalJson(given.value));
  const result = await schema["~standard"].validate(copy);
  if (result.issues)
    return {
      ok: false,
      issues: Object.freeze(result.issues.slice(0, ISSUE_LIMIT).map(issueOf)),
      by: "schema",
    };
  return owned(result.value, limits);
}

function owned(value: unknown, limits: JsonLimits | undefined): JobValidation {
  try {
    return { ok: true, value: ownJson(value, limits) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const issues = Object.freeze([Object.freeze({ pointer: "", message: error.message })]);
    return { ok: false, issues, by: "json" };
  }
}

function issueOf({ message, path = [] }: StandardSchemaV1.Issue): JobValidationIssue {
  const tokens = path.map((segment) => String(typeof segment === "object" ? segment.key : segment));
  const text = String(message).slice(0, 1024);
  return Object.freeze({ pointer: pointerText(tokens), message: text.toWellFormed() });
}
