import type { Session } from "../store/drivers/driver.ts";
import { Refused } from "./report.ts";

/** As "18.4", once the server is one that the plugin can live on. */
export async function refuseUnsupportedDatabase(session: Session): Promise<string> {
  const [facts] = await session.query(
    `select pg_catalog.current_setting('server_version_num')::integer as number,
            pg_catalog.current_setting('server_version')::text as version,
            pg_catalog.current_setting('server_encoding')::text as encoding`,
    [],
  );
  const version = String(facts?.version).split(" ")[0] ?? "";
  if (Number(facts?.number) < 140_000) {
    throw new Refused("unsupported_database", `expected PostgreSQL 14 or newer, got ${version}`);
  }
  if (facts?.encoding !== "UTF8") {
    throw new Refused(
      "unsupported_database",
      `expected a database with the encoding UTF8, got ${String(facts?.encoding)}`,
    );
  }
  return version;
}
