import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkModel, spinIsHere } from "./check-model.ts";

const model = readFileSync(join(import.meta.dir, "lease.pml"), "utf8");
const context = readFileSync(join(import.meta.dir, "../CONTEXT.md"), "utf8");

/** Bounds that a search gets through in a few seconds; between them they have everything that the model can do. */
const bounds = [
  ["two attempts, each call made once", ["-DMAX_ATTEMPTS=2", "-DREPEATS=1"]],
  ["calls made twice, a fence", ["-DMAX_ATTEMPTS=1", "-DMAX_FENCES=1"]],
  ["calls made twice, a claim undone, a fence", ["-DMAX_ATTEMPTS=1", "-DMAX_UNDONE=1", "-DMAX_FENCES=1"]],
] as const;

/** What each variant does wrong, and the invariant that it breaks. */
const broken = [
  ["COMPARE_BEFORE_LOCK", "an expiry that is compared before the wait for the row", "proof_in_the_statement"],
  ["REAP_WITHOUT_PREDICATE", "maintenance that does not repeat what it read", "proof_in_the_statement"],
  ["TOKEN_IS_OWNER", "a worker's name in the place of a token", "one_valid_lease"],
  ["NO_SECOND_LOOK", "a refusal after the wait without another look", "a_lost_reply_can_be_asked_for_again"],
] as const;

describe("the file of the lease protocol", () => {
  test("asserts each invariant that it declares, under a name that CONTEXT.md has", () => {
    const declared = [...model.matchAll(/^bool (\w+) = true;$/gm)].map(([, name = ""]) => name);
    const invariants = declared.filter((name) => name !== "in_ready");
    expect(invariants.length).toBeGreaterThanOrEqual(7);
    for (const name of invariants) {
      expect(model).toContain(`assert(${name})`);
      const words = name.replaceAll("_", " ");
      const found = context.toLowerCase().includes(`**${words}**`);
      expect([words, found]).toEqual([words, true]);
    }
  });

  test("has the broken variants that are tried here, and no other", () => {
    const named = new Set([...model.matchAll(/^#if(?:n?def) (\w+)$/gm)].map(([, name = ""]) => name));
    for (const bound of ["MAX_ATTEMPTS", "REPEATS", "MAX_UNDONE", "MAX_FENCES"]) named.delete(bound);
    expect([...named].sort()).toEqual(broken.map(([name]) => name).sort());
  });
});

if (!spinIsHere)
  console.log("proof: spin or gcc is not installed, so the model's states are not searched here");

describe.skipIf(!spinIsHere)("of all interleavings of the lease protocol", () => {
  // The larger ones take a minute: PROOF_LONG=1 searches them too.
  test.each(process.env.PROOF_LONG ? bounds : bounds.slice(0, 1))(
    "none breaks an invariant: %s",
    async (_, options) => {
      const found = await checkModel(options);
      expect(found).toMatchObject({ violated: undefined, complete: true });
      expect(found.states).toBeGreaterThan(10_000);
    },
    120_000,
  );

  test.each(broken)(
    "one breaks an invariant with %s: %s",
    async (variant, _, invariant) => {
      const attempts = variant === "NO_SECOND_LOOK" ? 1 : 2;
      const found = await checkModel([`-D${variant}`, `-DMAX_ATTEMPTS=${attempts}`]);
      expect(found.violated).toBe(invariant);
    },
    120_000,
  );
});
