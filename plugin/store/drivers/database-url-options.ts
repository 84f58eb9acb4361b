import { accessSync, constants } from "node:fs";
import type { DriverName } from "./driver.ts";

/**
 * What is wrong, for this client, with the options of a database URL, which is what stands behind its `?`; undefined when nothing
 * is. Names the option, never a value.
 *
 * Only listed options are taken. The clients overlook some of the others and send some to the server, which refuses them, and
 * to both an option in other letters, such as `SSLMODE`, may be none. `connect_timeout` is taken and has no effect: the plugin
 * has its own limit.
 */
export function faultInUrlOptions(url: string, driver: DriverName): string | undefined {
  const { searchParams, search } = new URL(url);
  // Behind an @ or an & there may be the rest of a secret that was not encoded.
  const mayShow = !search.includes("@") && !searchParams.has("sslpassword");
  const seen = new Set<string>();
  for (const [name, value] of searchParams) {
    const rule = rules.get(name)?.[driver];
    if (rule === undefined) {
      const which =
        rules.has(name) || (mayShow && /^[A-Za-z_][A-Za-z0-9_-]{0,62}$/.test(name))
          ? `option "${name}"`
          : `option number ${seen.size + 1}, whose name is not shown,`;
      return `${which} is none that driver "${driver}" takes: leave it out, or give a setting of the server in "options", as -c%20NAME%3DVALUE; it takes ${namesFor(driver)}`;
    }
    if (seen.has(name)) return `option "${name}" stands there twice`;
    if (value.includes("\0") || !rule.takes(value))
      return `option "${name}" has a value that driver "${driver}" does not take: expected ${rule.expected}`;
    seen.add(name);
  }
  return undefined;
}

interface Rule {
  readonly expected: string;
  takes(value: string): boolean;
}

type Rules = Readonly<Partial<Record<DriverName, Rule>>>;

const text: Rule = { expected: "a text without U+0000", takes: () => true };
const seconds: Rule = { expected: "a whole number of seconds", takes: (value) => /^\d{1,9}$/.test(value) };
const file: Rule = { expected: "the path of a file that can be read", takes: isReadable };

function oneOf(...values: readonly string[]): Rule {
  return { expected: values.join(", "), takes: (value) => values.includes(value) };
}

const forBoth = (rule: Rule): Rules => ({ bun: rule, pg: rule });

const rules: ReadonlyMap<string, Rules> = new Map([
  ["application_name", forBoth(text)],
  // pg knows no such option: it would take "require" for nothing.
  ["channel_binding", { bun: oneOf("disable", "prefer", "require"), pg: oneOf("disable", "prefer") }],
  ["connect_timeout", forBoth(seconds)],
  ["options", forBoth(text)],
  // To pg, "false" is a text, and so TLS.
  ["ssl", { bun: oneOf("true", "1", "false", "0"), pg: oneOf("true", "1", "0", "no-verify") }],
  ["sslcert", forBoth(file)],
  ["sslkey", forBoth(file)],
  [
    "sslmode",
    {
      bun: oneOf("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
      pg: oneOf("disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"),
    },
  ],
  ["sslnegotiation", { bun: oneOf("postgres"), pg: oneOf("postgres", "direct") }],
  ["sslpassword", { bun: text }],
  [
    "sslrootcert",
    {
      bun: {
        expected: `${file.expected}, or system`,
        takes: (value) => value === "system" || isReadable(value),
      },
      pg: file,
    },
  ],
  ["uselibpqcompat", { pg: oneOf("true", "false") }],
]);

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function namesFor(driver: DriverName): string {
  return [...rules].flatMap(([name, rule]) => (rule[driver] === undefined ? [] : [name])).join(", ");
}
