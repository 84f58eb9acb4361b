import { queueIdentity } from "./records/queue-identity.ts";
import { type RecordHome, readHome } from "./records/record-home.ts";
import type { RecordSession } from "./records/record-session.ts";

/** Where the records are. Read again when `afresh`: a database may have been restored since. */
export type FindHome = (afresh: boolean) => Promise<RecordHome>;

/** Finds the home of records on the provider's own connections, and keeps it. */
export function findHomeOf(records: RecordSession): FindHome {
  let home: Promise<RecordHome> | undefined;
  const read = async (): Promise<RecordHome> => readHome(records, await queueIdentity(records));
  return (afresh) => {
    if (home === undefined || afresh) {
      home = read();
      home.catch(() => {
        home = undefined;
      });
    }
    return home;
  };
}
