import type { ClaimResponse, EnqueueRequest } from "../../capability/index.ts";
import type { Dispatch } from "./records/record-state.ts";

/** The kind of every Jobs job that carries the record of a task to a worker. */
export const carrierKind = "lenso.task";

/**
 * The Jobs job of a dispatch. Every field comes from what was recorded, so that whoever enqueues it again means the same job. The
 * record counts the attempts; the carrier's own limit only bounds deliveries that were lost on the way.
 */
export function carrierOf(
  queue: string,
  { id, dispatch, runAt }: Dispatch,
  kind: string = carrierKind,
): EnqueueRequest {
  return {
    queue,
    kind,
    payload: { record: id, dispatch },
    idempotency_key: `${id}/${dispatch}`,
    available_at: runAt,
    max_attempts: 100,
  };
}

/** The record and dispatch that a claimed carrier names; undefined when its payload is none of ours. */
export function readCarrier({
  payload,
}: ClaimResponse): { readonly id: string; readonly dispatch: number } | undefined {
  const { record, dispatch } = payload;
  if (typeof record !== "string" || !isRecordId(record)) return undefined;
  return typeof dispatch === "number" &&
    Number.isInteger(dispatch) &&
    dispatch > 0 &&
    dispatch <= 2_147_483_647
    ? { id: record, dispatch }
    : undefined;
}

/** Whether a text can be a record's id at all. Anything else never reaches the database. */
export function isRecordId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text);
}
