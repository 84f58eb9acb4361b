/** What one try to claim a job found: a claim, nothing due, or a delivery that was no work. */
export type ClaimAnswer<Claim> = Claim | "empty" | "no-op";

/** Claims one by one, in rounds of 1, 2, 4 … at a time, so that an idle queue costs one call and a full one few rounds. */
export async function claimInRounds<Claim extends object>(
  count: number,
  claimOne: () => Promise<ClaimAnswer<Claim>>,
): Promise<readonly Claim[]> {
  const claims: Claim[] = [];
  for (let width = 1; claims.length < count; width *= 2) {
    const round = Array.from({ length: Math.min(width, count - claims.length) }, () => claimOne());
    const answers = await Promise.allSettled(round);
    for (const answer of answers) {
      if (answer.status === "fulfilled" && typeof answer.value === "object") claims.push(answer.value);
    }
    const failed = answers.find((answer) => answer.status === "rejected");
    // What was claimed is worked on; a failure that lasts shows at the next fetch.
    if (failed && claims.length === 0) throw failed.reason;
    if (failed || answers.some((answer) => answer.status === "fulfilled" && answer.value === "empty")) break;
  }
  return claims;
}
