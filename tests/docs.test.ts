import { expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { engineSettings, startupParameters } from "../plugin/store/session-settings.ts";
import { codeBlocks } from "./support/code-blocks.ts";
import { readAll, repositoryFiles, root } from "./support/repository-files.ts";

const pages = await readAll([
  ...repositoryFiles("*.md"),
  ...repositoryFiles("docs/**/*.md"),
  ...repositoryFiles("examples/**/*.md"),
]);

test("every ts code block of the README and the docs passes the type check", () => {
  const folder = join(root, ".cache/docs-check");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of pages) {
    for (const { line, code } of codeBlocks(text, "ts")) {
      // A module each, whether or not it imports anything; its name says where the block stands.
      writeFileSync(join(folder, `${path.replaceAll("/", "__")}.line-${line}.ts`), `${code}\nexport {};\n`);
    }
  }
  const options = {
    noUnusedLocals: false,
    noUnusedParameters: false,
    declaration: false,
    isolatedDeclarations: false,
  };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../../tsconfig.json",
      compilerOptions: options,
      include: ["*.ts"],
      exclude: [],
    }),
  );
  if (!pages.has("README.md")) throw new Error("README.md is missing");
  const tsc = Bun.spawnSync([join(root, "node_modules/.bin/tsc"), "--project", folder, "--pretty", "false"]);
  expect(tsc.stdout.toString()).toBe("");
});

test("the settings for a pooler's role and for PgBouncer are all that the page says, and no others", () => {
  const page = pages.get("docs/set-up-and-upgrade.md") ?? "";
  const section = page.slice(page.indexOf("## Behind PgBouncer"));
  const [commands] = codeBlocks(section, "sql");
  const given = Array.from(
    (commands?.code ?? "").matchAll(/^alter role app set (\w+) = '(.+)';$/gm),
    ([, name = "", value]) => [name.toLowerCase(), value],
  );
  const wanted = { ...engineSettings, statement_timeout: "15s", lock_timeout: "5s" };
  expect(Object.fromEntries(given)).toEqual(
    Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name.toLowerCase(), value])),
  );
  const [ignored] = codeBlocks(section, "ini");
  expect(ignored?.code.trim()).toBe(`ignore_startup_parameters = ${startupParameters.join(", ")}`);
});

test("every relative link in the docs leads to a file", () => {
  const broken = [...pages].flatMap(([path, text]) =>
    linksOf(text)
      .filter((target) => !existsSync(join(root, dirname(path), decodeURI(target))))
      .map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("every link to a heading of the docs leads to one", () => {
  const broken = [...pages].flatMap(([path, text]) =>
    anchorsOf(text)
      .filter(({ page, anchor }) => {
        const target = page === "" ? path : join(dirname(path), page);
        const headings = pages.get(target);
        return headings !== undefined && !headingAnchors(headings).includes(anchor);
      })
      .map(({ page, anchor }) => `${path}: ${page}#${anchor}`),
  );
  expect(broken).toEqual([]);
});

function linksOf(markdown: string): string[] {
  return Array.from(withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target)
    .filter((target) => !/^([a-z]+:|#)/.test(target))
    .map((target) => target.replace(/#.*$/, ""));
}

function anchorsOf(markdown: string): { page: string; anchor: string }[] {
  const links = withoutCode(markdown).matchAll(/\]\(([^)\s#:]*)#([^)\s]+)\)/g);
  return Array.from(links, ([, page = "", anchor = ""]) => ({ page, anchor }));
}

/** As GitHub makes them: lower case, punctuation dropped, a hyphen for each blank. */
function headingAnchors(markdown: string): string[] {
  return Array.from(withoutCode(markdown, false).matchAll(/^#+\s+(.+)$/gm), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}

function withoutCode(markdown: string, inlineToo = true): string {
  const text = markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
  return inlineToo ? text.replace(/`[^`\n]*`/g, "") : text;
}
