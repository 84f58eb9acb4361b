import { openBunDriver } from "./bun-driver.ts";
import type { Driver, DriverName, DriverOptions } from "./driver.ts";
import { openPgDriver } from "./pg-driver.ts";

/** Opens a pool with the client that was asked for, or the one that fits the runtime. Connects lazily. */
export function openDriver(name: DriverName | undefined, options: DriverOptions): Promise<Driver> {
  const fitting = "Bun" in globalThis ? "bun" : "pg";
  return (name ?? fitting) === "bun" ? openBunDriver(options) : openPgDriver(options);
}
