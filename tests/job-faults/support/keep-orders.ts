import type { JobReference } from "../../../job-provider/index.ts";
import type { FaultOrder } from "./fault-orders.ts";
import type { FaultWorld } from "./open-fault-world.ts";

/** A job, and what it is about. */
export interface AcceptedOrder {
  readonly order: FaultOrder;
  readonly reference: JobReference;
}

/**
 * Accepts jobs until so many of each kind are open, and answers the new ones. Each kind has its share, whichever of them ends sooner.
 *
 * @param random an integer from 0 and below the given one: draws which order of the kind it is
 */
export async function keepOrders(
  world: FaultWorld,
  orders: readonly FaultOrder[],
  { each, random }: { readonly each: number; readonly random: (below: number) => number },
): Promise<readonly AcceptedOrder[]> {
  const rows: { provider: string; open: number }[] = await world.sql`
    select provider_id::json #>> '{}' as provider, count(*)::int as open from job
    where state in ('queued', 'running', 'waiting') group by 1`;
  const missing: FaultOrder[] = [];
  for (const kind of new Set(orders.map(({ provider }) => provider))) {
    const choice = orders.filter(({ provider }) => provider === kind);
    const open = rows.find(({ provider }) => provider === kind)?.open ?? 0;
    for (let count = open; count < each; count += 1)
      missing.push(choice[random(choice.length)] as FaultOrder);
  }
  return Promise.all(missing.map(async (order) => ({ order, reference: await world.accept(order) })));
}
