import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject } from "../../capability/index.ts";
import { copyPlainJson, type JsonLimits } from "../json-value.ts";
import type { Jsonable, RequireJson } from "../jsonable.ts";
import { isStandardSchema, validateInput } from "../validate-input.ts";

/** A kind of job of `lenso.jobs@1`: its name and what its payload is, shared by whoever enqueues and whoever works. */
export interface JobKind<Kind extends string = string, Schema extends StandardSchemaV1 = StandardSchemaV1> {
  readonly kind: Kind;
  readonly payload: Schema;
}

/**
 * Defines a kind once, so that payloads are typed at both ends.
 *
 * @throws TypeError when the name or the schema cannot be one.
 * @example
 * export const sendMail = defineJobKind({ kind: "mail.send", payload: v.object({ to: v.string() }) });
 */
export function defineJobKind<const Kind extends string, Schema extends StandardSchemaV1>(definition: {
  /** 1..256 of `A-Z a-z 0-9 . _ - : /`. It is stored with every job. */
  readonly kind: Kind;
  /** Any Standard Schema v1 of a JSON object; the same answer each time, no side effects. */
  readonly payload: Schema &
    RequireObject<StandardSchemaV1.InferInput<Schema>> &
    RequireJson<StandardSchemaV1.InferOutput<Schema>>;
}): JobKind<Kind, Schema> {
  const { kind, payload } = definition;
  if (typeof kind !== "string" || !/^[A-Za-z0-9._:/-]{1,256}$/.test(kind))
    throw new TypeError("kind: expected 1..256 of A-Z a-z 0-9 . _ - : /");
  if (!isStandardSchema(payload)) throw new TypeError(`payload of ${kind}: expected a Standard Schema v1`);
  return Object.freeze({ kind, payload });
}

type RequireObject<T> = unknown extends T
  ? unknown
  : T extends readonly unknown[]
    ? NotAnObject
    : [T] extends [object & Jsonable<T>]
      ? unknown
      : NotAnObject;
type NotAnObject = { readonly "a payload must be a JSON object": never };

/** What `lenso.jobs@1` takes. */
const payloadLimits: JsonLimits = { bytes: 262_144, depth: 64 };

/** The raw payload as plain JSON, after its schema has accepted it. @throws Error that says why it is none. */
export async function acceptedPayload({ payload: schema }: JobKind, payload: unknown): Promise<JsonObject> {
  const raw = copyPlainJson(payload, payloadLimits);
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    throw new TypeError("$: expected an object");
  await parsePayload({ payload: schema }, raw);
  return raw as JsonObject;
}

/** What a handler gets of a stored payload. @throws Error that says why it is none. */
export function parsePayload({ payload }: Pick<JobKind, "payload">, raw: unknown): Promise<unknown> {
  return validateInput(payload, copyPlainJson(raw, payloadLimits), payloadLimits);
}
