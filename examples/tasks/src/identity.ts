/** Who asks: a person or a program of one realm. Both parts together are the owner of a report. */
export interface Identity {
  readonly realmId: string;
  readonly subjectId: string;
}

/** Proves sessions. A session is opaque to everybody else: no part of it is ever taken for a subject's id. */
export interface TaskAuthSource {
  /** Whose session it is; null when it is forged, expired or revoked. Throws when that cannot be found out. */
  verify(session: string): Promise<Identity | null>;
}

/** What `connectTaskAuth()` of an auth source module returns. */
export interface TaskAuthConnection {
  readonly source: TaskAuthSource;
  /** Runs when the application stops. */
  readonly cleanup?: () => void | Promise<void>;
}

/** What a module named in TASK_AUTH_SOURCE_MODULE exports. */
export interface TaskAuthModule {
  connectTaskAuth(): TaskAuthConnection | Promise<TaskAuthConnection>;
}

/** The identity of this process, fixed at its start. */
export interface StartUpIdentity {
  readonly identity: Identity;
  /** Proves the session once more: one that has expired or was revoked since the start ends every operation. */
  recheck(): Promise<void>;
}

/** The session was refused. Says nothing of the session itself. */
export class SessionRefused extends Error {
  override readonly name = "SessionRefused";

  constructor() {
    super(
      "the session in TASK_SESSION is not valid: it is forged, has expired or was revoked; get a new one",
    );
  }
}

/** Proves a session and fixes whose it is. @throws SessionRefused */
export async function provenIdentity(source: TaskAuthSource, session: string): Promise<StartUpIdentity> {
  const identity = await source.verify(session);
  if (identity === null) throw new SessionRefused();
  const { realmId, subjectId } = identity;
  return {
    identity: Object.freeze({ realmId, subjectId }),
    async recheck() {
      const now = await source.verify(session);
      if (now?.realmId !== realmId || now.subjectId !== subjectId) throw new SessionRefused();
    },
  };
}
