import * as v from "valibot";

/** A notice as the receiver gets it. */
export interface Notice {
  /** Names the notice for ever: the job that it is for. */
  readonly reference: string;
  /** Which attempt of the job sent it, so that the receiver's log can be laid beside the job's events. */
  readonly attempt: string;
  readonly subject: string;
  readonly text: string;
}

/** What is known after a request. Of `unknown`, `why` is for people and holds nothing that the receiver said. */
export type Delivery =
  | { readonly known: "delivered"; readonly receipt: string }
  | { readonly known: "refused"; readonly why: string }
  | { readonly known: "unknown"; readonly why: string };

/**
 * Posts a notice, once. Only two answers say what happened: a receipt, and a status that says that the request was bad. Whatever else comes, or
 * does not come, leaves open whether the notice was delivered.
 *
 * @throws the signal's reason
 */
export async function postNotice(
  receiver: URL,
  notice: Notice,
  limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Delivery> {
  const answer = await ask(new URL("notices", receiver), limits, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(notice),
  });
  if (typeof answer === "string") return { known: "unknown", why: answer };
  const { status, receipt } = answer;
  if (status >= 200 && status < 300 && receipt !== undefined) return { known: "delivered", receipt };
  const isBad = status >= 400 && status < 500 && status !== 408; // 408: it may have heard most of it
  return { known: isBad ? "refused" : "unknown", why: `the receiver answered ${status}` };
}

/**
 * Looks whether the receiver has the notice of a reference. Not to have it yet does not mean never to get it: a request can still be under way.
 *
 * @throws the signal's reason
 */
export async function findNotice(
  receiver: URL,
  reference: string,
  limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Exclude<Delivery, { readonly known: "refused" }>> {
  const answer = await ask(new URL(`notices/${encodeURIComponent(reference)}`, receiver), limits, {});
  if (typeof answer === "string") return { known: "unknown", why: answer };
  const { status, receipt } = answer;
  if (status === 200 && receipt !== undefined) return { known: "delivered", receipt };
  return { known: "unknown", why: `the receiver answered ${status} when it was asked for the notice` };
}

const withReceipt = v.object({ receipt: v.pipe(v.string(), v.minLength(1), v.maxLength(200)) });

/** The answer, or why there was none. */
async function ask(
  url: URL,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
  request: RequestInit,
): Promise<{ readonly status: number; readonly receipt: string | undefined } | string> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    // On a connection of its own and without following a redirect, so that nothing below sends it a second time.
    const response = await fetch(url, {
      ...request,
      redirect: "manual",
      keepalive: false,
      signal: AbortSignal.any([signal, timeout]),
    });
    const body = v.safeParse(withReceipt, await response.json().catch(() => undefined));
    signal.throwIfAborted();
    return { status: response.status, receipt: body.success ? body.output.receipt : undefined };
  } catch {
    signal.throwIfAborted();
    return timeout.aborted ? `no answer came within ${timeoutMs} ms` : "the connection failed";
  }
}
