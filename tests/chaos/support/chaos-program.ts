// A process of a chaos run: a producer or a worker until SIGTERM, after which it finishes what it has and ends by itself. It is started by
// startChaosProcess with its options as its one argument, and writes what it does into its ledger.
import type { ChaosProcessOptions } from "./chaos-process.ts";
import { openLedger, readLedger } from "./ledger.ts";
import { produce, repeatUnanswered } from "./produce.ts";
import { startChaosHost } from "./start-chaos-host.ts";
import { work } from "./work.ts";

const options = JSON.parse(process.argv[2] as string) as ChaosProcessOptions;
const { run, role, name, driver, url } = options;
using ledger = openLedger(options.ledger);
const stopping = new AbortController();

const trouble = (error: unknown): void => {
  ledger.write({ entry: "trouble", what: error instanceof Error ? String(error.stack) : String(error) });
};
for (const event of ["unhandledRejection", "uncaughtException"] as const) process.on(event, trouble);
process.once("SIGTERM", () => stopping.abort());
process.stdin.once("end", () => process.exit(1)).resume(); // whoever started it is gone

const host = await startChaosHost({ url, driver, leaseSeconds: run.leaseSeconds });
if (role === "producer") {
  if (options.earlier !== undefined)
    await repeatUnanswered(host.producer, ledger, run, readLedger(options.earlier));
  await produce(host.producer, ledger, { run, name, lanes: 6, pauseMs: 40 }, stopping.signal);
} else {
  const clients = { jobs: host.worker, signals: host.signals };
  await work(clients, ledger, { run, lanes: 24, waits: driver === "bun" }, stopping.signal);
}
await host.stop();
process.stdin.destroy();
