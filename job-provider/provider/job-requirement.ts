/** What a fact of a host may be. Numbers are finite. */
export type JobFact = string | number | boolean;

/** What a host must be for a provider to run there. */
export type JobRequirement =
  | { readonly key: string; readonly condition: "equals"; readonly value: JobFact }
  | { readonly key: string; readonly condition: "one-of"; readonly values: readonly JobFact[] }
  | { readonly key: string; readonly condition: "at-least"; readonly value: number };
