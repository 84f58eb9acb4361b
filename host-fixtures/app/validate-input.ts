import type { StandardSchemaV1 } from "@standard-schema/spec";
import { actorIn } from "./actor-in.ts";
import type { OperationFailure } from "./create-manage-adapter.ts";
import { placeOf } from "./place-of.ts";
import { NotPlainJson, plainJson } from "./plain-json.ts";

/** Most bytes of an operation's input, as UTF-8 of compact JSON. */
export const maxInputBytes = 1_048_576;

/** What the schema made of an input, or why it was refused: by places, never by values. */
export type ValidatedInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: OperationFailure };

/** Checks that an input is JSON, names no actor, and fits the schema. @throws whatever the schema throws */
export async function validateInput(schema: StandardSchemaV1, input: unknown): Promise<ValidatedInput> {
  let json: ReturnType<typeof plainJson>;
  try {
    json = plainJson(input, maxInputBytes);
  } catch (error) {
    if (error instanceof NotPlainJson) return refusal(`not plain JSON: ${error.message}`);
    throw error;
  }
  const actor = await actorIn(schema, json);
  if (actor !== undefined)
    return refusal(`$.${actor}: an input cannot say who calls, which was settled at the application's start`);
  const result = await schema["~standard"].validate(json);
  if (!result.issues) return { ok: true, value: result.value };
  const places = [...new Set(result.issues.map(issuePlace))].slice(0, 10);
  return refusal(`the schema refuses ${places.join(", ")}`);
}

function refusal(message: string): ValidatedInput {
  return { ok: false, error: { code: "invalid-input", message } };
}

function issuePlace({ path = [] }: StandardSchemaV1.Issue): string {
  return placeOf(path.map((segment) => (typeof segment === "object" ? segment.key : segment)));
}
