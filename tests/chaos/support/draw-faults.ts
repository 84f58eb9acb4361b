import { seededRandom } from "../../contract/support/given.ts";

/** One thing that goes wrong. */
export type Fault = ProcessFault | ServerFault;

/** What befalls a process or its link: whichever stands at that place of the run at the moment. */
export type ProcessFault =
  | { readonly do: "kill"; readonly process: number }
  /** Frozen for longer than its leases, then woken: it settles what it no longer holds. */
  | { readonly do: "pause"; readonly process: number; readonly extraMs: number }
  /** Nothing passes for a while, and then all of it, in order. */
  | { readonly do: "stall"; readonly process: number; readonly forMs: number }
  /** Killed while nothing passes; what it had sent arrives when its leases are over. */
  | { readonly do: "bury"; readonly process: number; readonly extraMs: number }
  | { readonly do: "cut"; readonly process: number }
  /** Broken in the middle of a message. */
  | { readonly do: "cutAfter"; readonly process: number; readonly bytes: number }
  /** Whatever is asked for is done, and the answer is lost. */
  | { readonly do: "loseReplies"; readonly process: number; readonly forMs: number }
  | { readonly do: "refuse"; readonly process: number; readonly forMs: number };

export type ServerFault =
  /** All processes are frozen at once, for longer than every lease, and woken together. */
  | { readonly do: "freeze"; readonly extraMs: number }
  | { readonly do: "restart"; readonly mode: "fast" | "immediate" }
  | { readonly do: "terminate"; readonly backends: number; readonly salt: number }
  /** Others take all connections of the server. */
  | { readonly do: "crowd"; readonly forMs: number };

export interface PlannedFault {
  readonly fault: Fault;
  /** How long after the one before it, in ms. */
  readonly afterMs: number;
}

export interface FaultPlaces {
  readonly producers: number;
  readonly workers: number;
}

/** One round of faults: each kind at least once, in an order that chance has drawn. Producers come first among the places. */
export function drawFaults(seed: number, { producers, workers }: FaultPlaces): PlannedFault[] {
  const draw = seededRandom(seed);
  for (let warmUp = 0; warmUp < 8; warmUp += 1) draw(2); // neighbouring seeds begin alike
  const producer = (): number => draw(producers);
  const worker = (): number => producers + draw(workers);
  const anybody = (): number => draw(producers + workers);
  const between = (least: number, most: number): number => least + draw(most - least);
  const round: Fault[] = [
    { do: "kill", process: worker() },
    { do: "kill", process: worker() },
    { do: "kill", process: producer() },
    { do: "pause", process: worker(), extraMs: between(300, 1500) },
    { do: "pause", process: worker(), extraMs: between(300, 1500) },
    { do: "stall", process: anybody(), forMs: between(300, 4000) },
    { do: "stall", process: worker(), forMs: between(300, 4000) },
    { do: "bury", process: worker(), extraMs: between(200, 1000) },
    { do: "cut", process: anybody() },
    { do: "cutAfter", process: anybody(), bytes: draw(4000) },
    { do: "cutAfter", process: worker(), bytes: draw(4000) },
    { do: "loseReplies", process: producer(), forMs: between(300, 1500) },
    { do: "loseReplies", process: worker(), forMs: between(300, 1500) },
    { do: "refuse", process: anybody(), forMs: between(300, 1500) },
    { do: "freeze", extraMs: between(50, 500) },
    { do: "restart", mode: "fast" },
    { do: "restart", mode: "immediate" },
    { do: "terminate", backends: between(1, 12), salt: draw(1_000_000) },
    { do: "terminate", backends: between(1, 12), salt: draw(1_000_000) },
    { do: "crowd", forMs: between(500, 1500) },
  ];
  const planned: PlannedFault[] = [];
  while (round.length > 0) {
    const [fault] = round.splice(draw(round.length), 1) as [Fault];
    planned.push({ fault, afterMs: between(50, 650) });
  }
  return planned;
}
