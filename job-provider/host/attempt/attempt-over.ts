/**
 * What a service of an attempt rejects with once the attempt may change nothing more: its lease is lost or can no longer be proven, its job was
 * cancelled, its worker ended without it, or the provider has returned. Nothing was changed. Let it pass through: the job goes on without this attempt.
 */
export class JobAttemptOver extends Error {
  override readonly name = "JobAttemptOver";

  constructor(why: string) {
    super(`the attempt is over: ${why}`);
  }
}
