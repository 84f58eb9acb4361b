import { type Proxy, startProxy } from "../../faults/support/proxy.ts";
import { eventually } from "../../task-faults/support/eventually.ts";
import { type StatementGate, statementGate } from "../../task-faults/support/statement-gate.ts";
import type { HostProcess } from "./host-process.ts";
import type { FaultWorld } from "./open-fault-world.ts";

/** Which deaths there are. */
export interface KillPlan {
  readonly kills: number;
  /** An integer from 0 and below the given one. */
  readonly random: (below: number) => number;
  /** Called again and again while a worker is to have enough to do: keeps jobs waiting. */
  readonly refill: () => Promise<void>;
  /** Called between two deaths, when nobody is at work. */
  readonly rest: () => Promise<void>;
}

/** What the deaths have met. */
export interface Deaths {
  /** Attempts that held a job, for each death. */
  readonly attempts: readonly number[];
  /** Deaths of which the network has delivered something late. */
  readonly late: number;
}

/** How many attempts a worker process makes at a time, how many have to run before it may die, and how many a death has to meet to count. */
const [concurrency, running, counting] = [14, 12, 10];
/** A death comes at one of so many statements after that, and at most so many ms later. */
const [statements, graceMs] = [140, 100];
/** Seldom enough to leave the machine to the workers. */
const refillEveryMs = 30;

/**
 * Kills worker processes, one after the other, each while it makes many attempts and at a statement that chance has drawn: one that has not
 * arrived, and which the network delivers when the leases have passed or another worker has taken over; or one that has committed and whose
 * answer is lost.
 */
export async function killWorkers(
  world: FaultWorld,
  { kills, random, refill, rest }: KillPlan,
): Promise<Deaths> {
  const attempts: number[] = [];
  let late = 0;
  let held: Victim | undefined;
  const deliver = async (victim: Victim | undefined): Promise<void> => {
    if (victim === undefined) return;
    if ((await victim.gate.release()) !== "") late += 1;
    await victim.proxy.close(); // until now the server took the dead for living
  };
  const victims: Promise<Victim>[] = [];
  const nextVictim = (): Promise<Victim> => {
    const victim = openVictim(world, random);
    victims.push(victim);
    return victim;
  };
  try {
    for (let next = nextVictim(); attempts.length < kills; ) {
      if (victims.length > 2 * kills + 1)
        throw new Error(`too few attempts run: ${attempts.length} deaths count`);
      const victim = await next;
      const { worker, gate } = victim;
      await rest();
      await worker.ask({ do: "work", concurrency });
      next = nextVictim(); // it gets ready meanwhile
      await eventually("enough attempts", async () => {
        await refill();
        await Bun.sleep(refillEveryMs);
        return (await countRunning(world)) >= running;
      });
      await deliver(held);
      gate.arm();
      const filling = refillUntil(gate.reached, refill);
      await gate.reached;
      await Bun.sleep(random(graceMs)); // other attempts come to statements, too, and wait like the first
      await worker.kill();
      const met = await countRunning(world);
      await filling;
      if (met >= counting) attempts.push(met);
      await world.lapse();
      held = random(2) === 0 ? victim : undefined;
      if (held === undefined) await deliver(victim);
    }
    await deliver(held);
    return { attempts, late };
  } finally {
    for (const { worker, proxy } of await Promise.all(victims)) {
      await worker.kill();
      await proxy.close();
    }
  }
}

async function refillUntil(end: Promise<void>, refill: KillPlan["refill"]): Promise<void> {
  let isOver = false;
  void end.then(() => void (isOver = true));
  while (!isOver) {
    await refill();
    await Bun.sleep(refillEveryMs);
  }
}

/** How many attempts hold a job: not those of the dead, whose leases have passed. */
async function countRunning({ sql }: FaultWorld): Promise<number> {
  const [row] = await sql`
    select count(*)::int as running from job where state = 'running' and lease_until > lenso_test_clock.now()`;
  return row.running;
}

interface Victim {
  readonly worker: HostProcess;
  readonly gate: StatementGate;
  readonly proxy: Proxy;
}

async function openVictim(world: FaultWorld, random: KillPlan["random"]): Promise<Victim> {
  const gate = statementGate({
    statement: /./,
    at: random(2) === 0 ? "sent" : "answered",
    outliveClient: true,
    armed: false,
    passes: random(statements),
  });
  const proxy = await startProxy(world.url, gate.tapLink);
  return { gate, proxy, worker: world.process({ url: proxy.url }) };
}
