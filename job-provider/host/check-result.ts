import type { JsonValue } from "../../capability/index.ts";
import type { JobSchema } from "../configuration/job-schema.ts";
import { type JobValidation, validateValue } from "../configuration/validate-value.ts";
import { configurationLimits } from "../submission/read-configuration.ts";

/** What a provider returned, as its schema takes it; or what is wrong with it. */
export type CheckedResult =
  | { readonly ok: true; readonly value: JsonValue }
  | {
      readonly ok: false;
      /** For the records: places and rules, never a value, which a schema's own words may quote. */
      readonly why: string;
      /** For `onError`: what the schema says, or what it threw. */
      readonly cause: unknown;
    };

/** Validates what a provider returned. Never rejects: a schema that throws has not taken it. */
export async function checkResult(schema: JobSchema, raw: unknown): Promise<CheckedResult> {
  let validation: JobValidation;
  try {
    validation = await validateValue(schema, raw, configurationLimits);
  } catch (cause) {
    return { ok: false, why: `the result's schema threw: ${classOf(cause)}`, cause };
  }
  if (validation.ok) return validation;
  const { issues, by } = validation;
  const told = issues.slice(0, mostTold).map(({ pointer, message }) => {
    if (by === "json") return { rule: message, said: message }; // our own words: the place and the rule
    const place = pointer === "" ? "the value" : shown(pointer);
    return { rule: `${place}: refused by the result's schema`, said: `${place}: ${message}` };
  });
  const more = issues.length > mostTold ? `; and ${issues.length - mostTold} more` : "";
  return {
    ok: false,
    why: `the result is refused: ${told.map(({ rule }) => rule).join("; ")}${more}`,
    cause: new TypeError(`${told.map(({ said }) => said).join("; ")}${more}`),
  };
}

/** The class of what was thrown, which is all that a record says of it. */
export function classOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown;
  const { name } = thrown.constructor;
  return /^[\w$]{1,64}$/.test(name) ? name : "Error";
}

const mostTold = 10;

function shown(pointer: string): string {
  const text = pointer.length > 256 ? `${pointer.slice(0, 256)}…` : pointer;
  return text.toWellFormed().replace(/\p{Cc}/gu, "\uFFFD");
}
