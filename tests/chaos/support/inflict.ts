import type { PostgresServer } from "../../../host-fixtures/index.ts";
import type { ChaosDatabase } from "./chaos-database.ts";
import type { ChaosPlace } from "./chaos-place.ts";
import type { ChaosRun } from "./chaos-run.ts";
import { crowdServer } from "./crowd-server.ts";
import type { Fault, ProcessFault, ServerFault } from "./draw-faults.ts";

/** What has been done to a run so far. */
export interface Inflicted {
  kills: number;
  pauses: number;
  restarts: number;
  cuts: number;
  stalls: number;
  lostReplies: number;
  terminated: number;
  crowds: number;
}

export interface Victims {
  readonly run: ChaosRun;
  readonly places: readonly ChaosPlace[];
  readonly server: PostgresServer;
  readonly database: ChaosDatabase;
}

/** How many connections the server has; the crowd may have as many. */
export const maxConnections = 100;

/** Does the worst, and makes it good again. Faults of one process come one after the other, and so do those of the server. */
export function createTormentor(victims: Victims): {
  readonly inflicted: Readonly<Inflicted>;
  inflict(fault: Fault): Promise<void>;
} {
  const { run, places } = victims;
  const leaseMs = run.leaseSeconds * 1000;
  const inflicted: Inflicted = {
    kills: 0,
    pauses: 0,
    restarts: 0,
    cuts: 0,
    stalls: 0,
    lostReplies: 0,
    terminated: 0,
    crowds: 0,
  };
  let serverTurn: Promise<void> = Promise.resolve();
  const late: Promise<void>[] = [];

  const harm = async (place: ChaosPlace, fault: ProcessFault): Promise<void> => {
    const { process, link } = place;
    switch (fault.do) {
      case "kill":
        inflicted.kills += 1;
        await (await place.replace()).close();
        return;
      case "pause":
        inflicted.pauses += 1;
        process.pause();
        await Bun.sleep(leaseMs + fault.extraMs);
        process.resume();
        return;
      case "stall":
        inflicted.stalls += 1;
        link.hold();
        await Bun.sleep(fault.forMs);
        link.release();
        return;
      case "bury": {
        inflicted.stalls += 1;
        inflicted.kills += 1;
        link.hold();
        await Bun.sleep(300); // so that calls of it are on the way
        const buried = await place.replace();
        late.push(
          Bun.sleep(leaseMs + fault.extraMs).then(async () => {
            buried.release();
            await Bun.sleep(200); // for the server to do what has arrived
            await buried.close();
          }),
        );
        return;
      }
      case "cut":
        inflicted.cuts += 1;
        link.cut();
        return;
      case "cutAfter":
        inflicted.cuts += 1;
        link.cutAfter(fault.bytes);
        return;
      case "loseReplies":
        inflicted.lostReplies += 1;
        link.loseReplies();
        await Bun.sleep(fault.forMs);
        link.cut();
        return;
      case "refuse":
        inflicted.cuts += 1;
        link.cut({ refuse: true });
        await Bun.sleep(fault.forMs);
        link.admit();
        return;
    }
  };
  return {
    inflicted,
    async inflict(fault) {
      if ("process" in fault) {
        const place = places[fault.process] as ChaosPlace;
        await place.inTurn(() => harm(place, fault));
      } else {
        serverTurn = serverTurn.then(() => harmServer(victims, inflicted, fault));
        await serverTurn;
      }
      await Promise.all(late.splice(0));
    },
  };
}

async function harmServer(
  { run, places, server, database }: Victims,
  inflicted: Inflicted,
  fault: ServerFault,
): Promise<void> {
  switch (fault.do) {
    case "freeze": {
      const processes = places.map(({ process }) => process);
      inflicted.pauses += processes.length;
      for (const process of processes) process.pause();
      await Bun.sleep(run.leaseSeconds * 1000 + fault.extraMs);
      for (const process of processes) process.resume();
      return;
    }
    case "restart":
      inflicted.restarts += 1;
      await server.restart({ mode: fault.mode });
      return;
    case "terminate":
      inflicted.terminated += await terminate(database, fault);
      return;
    case "crowd": {
      const first = await crowdServer(database.crowdUrl, maxConnections);
      await terminate(database, { backends: maxConnections, salt: 0 }); // who had a connection needs a new one
      const second = await crowdServer(database.crowdUrl, maxConnections);
      if (first.isFull || second.isFull) inflicted.crowds += 1;
      await Bun.sleep(fault.forMs);
      await Promise.all([first.leave(), second.leave()]);
      return;
    }
  }
}

function terminate(
  { asAdmin }: ChaosDatabase,
  { backends, salt }: { readonly backends: number; readonly salt: number },
): Promise<number> {
  return asAdmin(async (sql) => {
    const [row] = await sql`
      select count(pg_terminate_backend(pid))::int as ended from (
        select pid from pg_stat_activity where application_name = 'lenso-jobs'
        order by md5(pid::text || ${salt}::text) limit ${backends}) victim`;
    return row.ended;
  });
}
