import type { SQL } from "bun";
import type { Costs } from "../run/costs.ts";
import type { SideProcess } from "../run/side-process.ts";
import type { SideName, SideSpec } from "../sides/catalogue.ts";

/** Something that is measured on several sides, in turns. */
export interface Scenario {
  /** For `--only`. */
  readonly name: string;
  readonly rows: readonly Row[];
  readonly sides: readonly SideName[];
  /** Processes of each side. Default 1. */
  readonly processes?: number;
  /** Long ones are measured once, after a quick round to warm up, whatever `--rounds` says. */
  readonly once?: boolean;
  /** Left out unless `--only` names it. */
  readonly onRequest?: boolean;
  /** How many queues beside the one of all other scenarios. */
  queues?(size: Size): number;
  /** One turn of one side. Records at most one value for each row. */
  measure(stand: Stand, record: Recorder): Promise<void>;
}

/** One line of the report. */
export interface Row {
  readonly id: string;
  readonly title: string;
  readonly unit: "jobs/s" | "ms" | "round trips" | "×" | "bytes" | "µs" | "transactions";
  readonly better: "higher" | "lower";
}

export type Recorder = (row: string, value: number, costs?: Costs & { readonly jobs: number }) => void;

/** What a turn has at hand. */
export interface Stand {
  readonly spec: SideSpec;
  readonly schema: string;
  /** A connection of the bench's own, one statement at a time. */
  readonly sql: SQL;
  readonly databaseUrl: string;
  readonly processes: readonly SideProcess[];
  readonly size: Size;
  say(line: string): void;
}

/** How much is measured. */
export interface Size {
  readonly quick: boolean;
  /** Rows of the scenarios with a backlog. */
  readonly rows: readonly number[];
  readonly churnMinutes: number;
  readonly holdMinutes: number;
}

/** The first process of a side, and the only one of most. */
export function onlyProcess({ processes: [process] }: Stand): SideProcess {
  if (process === undefined) throw new Error("this side has no process");
  return process;
}
