/** A digest of one repeated hexadecimal digit. */
export const digestWith = (digit: string): string => `sha256:${digit.repeat(64)}`;

/** Fresh, mutable data of a submission that is valid. */
export function validSubmission(): Record<string, Record<string, unknown>> & { submissionKey: never } {
  return {
    provider: { id: "acme/mesh", version: "2.1.0", manifestDigest: digestWith("a") },
    input: {
      revision: {
        authorityId: "acme",
        workspaceId: "bridge",
        revisionId: "r-17",
        treeDigest: digestWith("b"),
      },
      paths: ["/case.json", "/mesh/part 1.stl"],
    },
    configuration: {
      value: { cells: 1000, seed: null, list: [{ "a/b": "", "~": false }] },
      explicitPointers: ["", "/cells", "/list/0/a~1b", "/list/0/~0"],
      expectedEffectiveDigest: digestWith("c"),
    },
    submissionKey: "order-17/mesh" as never,
  };
}

/** The value at a path of keys, to be changed in place. */
export function at(root: unknown, ...keys: readonly (string | number)[]): Record<string, unknown> {
  let current = root as Record<string, unknown>;
  for (const key of keys) current = current[key] as Record<string, unknown>;
  return current;
}

/** The same submission with one member set to another value; undefined keys are set too. */
export function submissionWith(path: string, value: unknown): unknown {
  const root = validSubmission();
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  at(root, ...keys)[last] = value;
  return root;
}
