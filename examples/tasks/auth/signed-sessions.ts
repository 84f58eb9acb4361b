import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { SQL } from "bun";
import type { Identity, TaskAuthConnection, TaskAuthSource } from "../src/identity.ts";

/**
 * The auth source of the example, for TASK_AUTH_SOURCE_MODULE. Reads DATABASE_URL and TASK_SESSION_KEY, which only those have who issue
 * or verify sessions.
 */
export function connectTaskAuth(): TaskAuthConnection {
  const sql = new SQL(required("DATABASE_URL"), { max: 1, connection: { statement_timeout: 10_000 } });
  return {
    source: createSignedSessions({ sql, key: sessionKey() }),
    cleanup: () => sql.close(),
  };
}

/** Everything that can be done with sessions. */
export interface SignedSessions extends TaskAuthSource {
  issue(identity: Identity, lifetimeSeconds: number): Promise<IssuedSession>;
  /** Refuses the session from now on, everywhere. Twice is harmless. */
  revoke(sessionId: string): Promise<void>;
}

/** A new session. */
export interface IssuedSession {
  /** Secret: whoever has it is its subject. */
  readonly session: string;
  /** No secret: names the session, to revoke it. */
  readonly sessionId: string;
  readonly expiresAt: Date;
}

/**
 * Sessions that prove themselves: realm, subject, expiry and a session id, under an HMAC-SHA256. The database tells the time and knows
 * which session ids were revoked; when it cannot be asked, nobody is let in.
 */
export function createSignedSessions({
  sql,
  key,
}: {
  readonly sql: SQL;
  readonly key: Buffer;
}): SignedSessions {
  return {
    async issue({ realmId, subjectId }, lifetimeSeconds) {
      const sessionId = randomUUID();
      const [row] = (await sql`
        select floor(extract(epoch from now()) + ${lifetimeSeconds}::float8)::float8 as expires`) as {
        expires: number;
      }[];
      if (row === undefined) throw new Error("the database did not tell the time");
      const claims: Claims = { sid: sessionId, realm: realmId, sub: subjectId, exp: row.expires };
      const body = Buffer.from(JSON.stringify(claims)).toString("base64url");
      const session = `${version}.${body}.${macOf(key, body).toString("base64url")}`;
      return { session, sessionId, expiresAt: new Date(row.expires * 1000) };
    },
    async verify(session) {
      const claims = claimsOf(key, session);
      if (claims === null) return null;
      const [row] = (await sql`
        select extract(epoch from now()) < ${claims.exp}::float8 as fresh,
          exists (select from task_example_revoked_sessions where session_id = ${claims.sid}::uuid) as revoked`) as {
        fresh: boolean;
        revoked: boolean;
      }[];
      if (row?.fresh !== true || row.revoked) return null;
      return { realmId: claims.realm, subjectId: claims.sub };
    },
    async revoke(sessionId) {
      await sql`
        insert into task_example_revoked_sessions (session_id) values (${sessionId}::uuid)
        on conflict (session_id) do nothing`;
    },
  };
}

/** TASK_SESSION_KEY as bytes: 32 or more, in hexadecimal. */
export function sessionKey(): Buffer {
  const text = required("TASK_SESSION_KEY");
  if (!/^([0-9a-f]{2}){32,}$/i.test(text))
    throw new Error("TASK_SESSION_KEY: expected 32 bytes or more in hexadecimal, as 64 digits");
  return Buffer.from(text, "hex");
}

interface Claims {
  readonly sid: string;
  readonly realm: string;
  readonly sub: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

const version = "v1";

/** The claims of a session that we signed; null for anything else. Nothing of it is read before its signature is proven. */
function claimsOf(key: Buffer, session: string): Claims | null {
  const [, body, mac] = /^v1\.([\w-]{1,2048})\.([\w-]{43})$/.exec(session) ?? [];
  if (body === undefined || mac === undefined) return null;
  if (!timingSafeEqual(Buffer.from(mac, "base64url"), macOf(key, body))) return null;
  return JSON.parse(Buffer.from(body, "base64url").toString()) as Claims; // ours, as `issue` wrote it
}

/** The version is signed too: a later format can never be read as this one. */
function macOf(key: Buffer, body: string): Buffer {
  return createHmac("sha256", key).update(`${version}.${body}`).digest();
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: see "What it reads" in README.md`);
  return value;
}
