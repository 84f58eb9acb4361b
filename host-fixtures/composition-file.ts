import { readFile } from "node:fs/promises";
import * as v from "valibot";
import type { PluginFactory } from "../capability/index.ts";
import type { BindingSpec, InstanceSpec } from "./composition.ts";
import { duplicateJsonKeys } from "./duplicate-json-keys.ts";
import { HostError, type HostProblem } from "./host-error.ts";

export interface ReadCompositionOptions {
  /** The plugins by the names that the file uses. */
  readonly plugins: Readonly<Record<string, PluginFactory>>;
}

/** A composition as {@link readComposition} gives it to `startHost`. */
export interface ReadComposition {
  readonly instances: readonly (InstanceSpec & { readonly key: string })[];
  readonly bindings: readonly BindingSpec[];
}

/**
 * A composition from JSON: a text that begins with `{`, or the path of a file.
 *
 * `{ "instances": { KEY: { "plugin": NAME, "configuration": { … } } }, "bindings": [{ "consumer", "requirement", "provider" }] }`
 *
 * Unknown and repeated keys are errors. Whether the bindings fit is for `startHost` to check.
 *
 * @throws HostError that names each wrong place in the document.
 * @example
 * const host = await startHost(await readComposition("host.json", { plugins: { jobs: jobsPlugin, secrets, accounts } }));
 */
export async function readComposition(
  source: string,
  options: ReadCompositionOptions,
): Promise<ReadComposition> {
  const text = source.trimStart().startsWith("{") ? source : await readFile(source, "utf8");
  const document = parseDocument(text);
  const problems: HostProblem[] = [];
  const instances: (InstanceSpec & { key: string })[] = [];
  for (const [key, value] of Object.entries(document.instances)) {
    const place = `instances.${key}`;
    const parsed = v.safeParse(instanceSchema, value);
    if (!parsed.success) {
      problems.push(...parsed.issues.map((issue) => describe(issue, place)));
      continue;
    }
    const { plugin: name, configuration } = parsed.output;
    const plugin = Object.hasOwn(options.plugins, name) ? options.plugins[name] : undefined;
    if (plugin) instances.push({ key, plugin, configuration });
    else problems.push(unknownPlugin(`${place}.plugin`, name, options));
  }
  throwIfAny(problems);
  return { instances, bindings: document.bindings };
}

const documentSchema = v.strictObject({
  // An object of any keys: a record schema would leave out keys such as "constructor" without a word.
  instances: v.custom<object>(isObject, "expected an object of Instances by key"),
  bindings: v.array(v.strictObject({ consumer: v.string(), requirement: v.string(), provider: v.string() })),
});
const instanceSchema = v.strictObject({ plugin: v.string(), configuration: v.exactOptional(v.unknown()) });

function parseDocument(text: string): v.InferOutput<typeof documentSchema> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new HostError({
      code: "invalid_composition",
      message: `not JSON: ${(error as SyntaxError).message.replace(/ ".*"/s, "")}`, // it may quote a secret in the wrong place
    });
  }
  throwIfAny(duplicateJsonKeys(text).map(repeatedKey));
  const parsed = v.safeParse(documentSchema, document);
  if (parsed.success) return parsed.output;
  const [first, ...others] = parsed.issues.map((issue) => describe(issue, ""));
  throw new HostError(first as HostProblem, ...others);
}

function repeatedKey(path: readonly string[]): HostProblem {
  const isInstance = path.length === 2 && path[0] === "instances";
  return {
    code: isInstance ? "duplicate_instance" : "invalid_composition",
    message: `${path.join(".")}: stands there twice`,
  };
}

function unknownPlugin(place: string, name: string, { plugins }: ReadCompositionOptions): HostProblem {
  const known = Object.keys(plugins).join(", ") || "none";
  return {
    code: "missing_plugin_factory",
    message: `${place}: no plugin ${shown(JSON.stringify(name))}, known are ${known}`,
  };
}

function describe(issue: v.BaseIssue<unknown>, place: string): HostProblem {
  const keys = issue.path?.map((item) => String(item.key)) ?? [];
  const path = [place, ...keys].filter((part) => part !== "").join(".") || "the document";
  return { code: "invalid_composition", message: `${path}: ${wrong(issue, keys.length > 0)}` };
}

function wrong(issue: v.BaseIssue<unknown>, isKey: boolean): string {
  if (issue.type === "strict_object" && isKey) return issue.expected === "never" ? "unknown key" : "missing";
  const expected = issue.type === "custom" ? issue.message : `expected ${issue.expected ?? "another type"}`;
  return `${expected}, got ${shown(issue.received)}`;
}

/** A text is shown only when it is a name: anything else could be a database URL or another secret in the wrong place. */
function shown(received: string): string {
  return !received.startsWith('"') || /^"[A-Za-z0-9._-]{0,64}"$/.test(received)
    ? received
    : "a text that is no name";
}

function isObject(input: unknown): boolean {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}

function throwIfAny([first, ...others]: readonly HostProblem[]): void {
  if (first) throw new HostError(first, ...others);
}
