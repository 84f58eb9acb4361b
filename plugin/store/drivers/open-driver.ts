import { openBunDriver } from "./bun-driver.ts";
import type { Driver, DriverName, DriverOptions } from "./driver.ts";
import { openPgDriver } from "./pg-driver.ts";

/** Opens a pool with the client that was asked for, or the one that fits the runtime. Connects lazily. */
export function openDriver(name: DriverName | undefined, options: DriverOptions): Promise<Driver> {
  return driverFor(name) === "bun" ? openBunDriver(options) : openPgDriver(options);
}

/** The client that was asked for, or the one that fits the runtime. */
export function driverFor(name: DriverName | undefined): DriverName {
  return name ?? ("Bun" in globalThis ? "bun" : "pg");
}
