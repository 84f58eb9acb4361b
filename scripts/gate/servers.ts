import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface ServerChoice {
  readonly name: string;
  /** Undefined: the embedded one. */
  readonly binaries: string | undefined;
}

/** The PostgreSQL versions to test on: the embedded one, and the newest that Debian or Ubuntu installed here. */
export function serverChoices(folder = "/usr/lib/postgresql"): ServerChoice[] {
  const installed = (existsSync(folder) ? readdirSync(folder) : [])
    .filter((version) => existsSync(join(folder, version, "bin/initdb")))
    .sort((a, b) => Number(b) - Number(a));
  return [
    { name: "embedded", binaries: undefined },
    ...installed
      .slice(0, 1)
      .map((version) => ({ name: `system-${version}`, binaries: join(folder, version, "bin") })),
  ];
}
