import {
  bindSecretsProvider,
  isSecretReference,
  type PluginFactory,
  RuntimeFailureError,
  secretsCapability,
} from "../capability/index.ts";

/**
 * `lenso.secrets@1` from a map of reference → value. The values are copied and can be reached only by resolving them.
 *
 * @throws TypeError for a malformed reference or a value that is no text; the message names the reference.
 */
export function secretsFromMap(values: Readonly<Record<string, string>>): PluginFactory {
  const byReference = checkedMap(values, "a secret text");
  return secretsPlugin("lenso.secrets.map", (reference) => byReference.get(reference));
}

/**
 * `lenso.secrets@1` from environment variables, read whenever a secret is resolved. An empty variable counts as none.
 *
 * Either each reference has its variable, or all share a prefix: then `jobs/database-url` with the prefix `SHOP_` is read
 * from `SHOP_JOBS_DATABASE_URL`. An object with the one key `prefix` is always the second form.
 *
 * @throws TypeError for a malformed reference; the message names it.
 */
export function secretsFromEnvironment(
  source: { readonly prefix: string } | Readonly<Record<string, string>>,
): PluginFactory {
  const { prefix } = source;
  const isPrefix = prefix !== undefined && Object.keys(source).length === 1;
  const variables = isPrefix ? undefined : checkedMap(source, "the name of a variable");
  return secretsPlugin("lenso.secrets.environment", (reference) => {
    const name = variables
      ? variables.get(reference)
      : prefix + reference.toUpperCase().replace(/[^A-Z0-9]/g, "_");
    return (name !== undefined && Object.hasOwn(process.env, name) && process.env[name]) || undefined;
  });
}

/** The values live in `find` alone: neither the factory nor an Instance has a property that could print one. */
function secretsPlugin(packageId: string, find: (reference: string) => string | undefined): PluginFactory {
  return {
    packageId,
    packageVersion: "1.0.0",
    requirements: [],
    capabilities: [secretsCapability.descriptor],
    instantiate({ configuration }) {
      if (configuration !== undefined && !isEmptyObject(configuration)) {
        throw new RuntimeFailureError("invalid_resolved_plan", `${packageId} takes no configuration`);
      }
      const endpoint = bindSecretsProvider({
        async resolve(_context, { reference }) {
          const value = isSecretReference(reference) ? find(reference) : undefined;
          if (value !== undefined) return { ok: true, value: { value } };
          const error = isSecretReference(reference) ? "unknown_reference" : "invalid_reference";
          return { ok: false, error: { kind: "domain", error } };
        },
      });
      return { endpoints: [endpoint] };
    },
  };
}

function checkedMap(source: Readonly<Record<string, string>>, expected: string): ReadonlyMap<string, string> {
  for (const [reference, value] of Object.entries(source)) {
    if (!isSecretReference(reference)) {
      throw new TypeError(
        `"${reference}" is no secret reference: expected letters, digits and . _ - / without empty, . or .. segments`,
      );
    }
    if (typeof value !== "string")
      throw new TypeError(`secret reference "${reference}": expected ${expected}, got ${typeof value}`);
  }
  return new Map(Object.entries(source));
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
