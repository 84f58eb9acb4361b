// Issues and revokes sessions: bun run session --help
import { parseArgs } from "node:util";
import { SQL } from "bun";
import { createSignedSessions, type SignedSessions, sessionKey } from "./signed-sessions.ts";

const usage = `bun run session issue --realm REALM --subject SUBJECT [--minutes 480]
  prints a session on standard output, and its id and expiry on standard error
bun run session revoke SESSION_ID
  refuses that session from now on

It reads DATABASE_URL and TASK_SESSION_KEY.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    realm: { type: "string" },
    subject: { type: "string" },
    minutes: { type: "string", default: "480" },
    help: { type: "boolean" },
  },
});
const [command, sessionId = ""] = positionals;
const { realm = "", subject = "", minutes } = values;

if (values.help) console.log(usage);
else if (command === "issue" && isName(realm) && isName(subject) && isLifetime(minutes))
  await withSessions(async (sessions) => {
    const issued = await sessions.issue({ realmId: realm, subjectId: subject }, Number(minutes) * 60);
    console.error(
      `session ${issued.sessionId} of ${subject} in ${realm}, until ${issued.expiresAt.toISOString()}`,
    );
    console.log(issued.session);
  });
else if (command === "revoke" && isUuid(sessionId))
  await withSessions(async (sessions) => {
    await sessions.revoke(sessionId);
    console.error(`session ${sessionId} is refused from now on`);
  });
else {
  console.error(usage);
  process.exitCode = 2;
}

async function withSessions(work: (sessions: SignedSessions) => Promise<void>): Promise<void> {
  const url = process.env.DATABASE_URL;
  if (!url) throw new Error('DATABASE_URL is not set: see "What it reads" in README.md');
  const key = sessionKey();
  const sql = new SQL(url, { max: 1 });
  try {
    await work(createSignedSessions({ sql, key }));
  } finally {
    await sql.close();
  }
}

function isName(text: string): boolean {
  return /^[\w.@-]{1,128}$/.test(text);
}

/** A minute to thirty days. Fractions are for trying out what an expired session does. */
function isLifetime(minutes: string): boolean {
  return Number(minutes) > 0 && Number(minutes) <= 43_200;
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
