/**
 * What stands of a test in a file: it runs wherever the file does, under a condition of the machine, never, or there is none of that
 * name.
 */
export type Standing = "runs" | "conditional" | "never" | "missing";

/**
 * Finds a test by its name as it is written. A test that is skipped, to do, without a body or only in a comment is none that runs, and
 * what surrounds one counts for it: a `describe` with a condition anywhere in the file makes all of its tests conditional.
 */
export function standingOfTest(source: string, name: string): Standing {
  const code = new Bun.Transpiler({ loader: "ts" }).transformSync(source); // without comments and types
  const literal = new RegExp(
    `(["'\`])${RegExp.escape(JSON.stringify(name).slice(1, -1))}\\1(?=\\s*[,)])`,
    "g",
  );
  const found = [...code.matchAll(literal)].map(({ index }) => standingAt(code, index));
  const standings = found.filter((each) => each !== "missing");
  if (standings.length === 0) return "missing";
  const around = [...code.matchAll(/\bdescribe((?:\.\w+)+)/g)].map(([, modifiers = ""]) => modifiers);
  return worst([...standings, ...around.map(standingOfModifiers)]);
}

const order: readonly Standing[] = ["runs", "conditional", "never", "missing"];

function worst(standings: readonly Standing[]): Standing {
  return order.findLast((each) => standings.includes(each)) ?? "missing";
}

/** Of the call that has a literal as its first argument, or whose first argument is a call that has. */
function standingAt(code: string, literal: number): Standing {
  const hasBody = /^(["'`]).*?\1\)*\s*,/.test(code.slice(literal));
  for (let argument = literal; ; ) {
    const end = endOfCallee(code, argument);
    if (end === undefined) return "missing";
    const beforeGroups = skipGroups(code, end);
    const [chain = ""] = /[\w$.]*$/.exec(code.slice(0, beforeGroups)) ?? [];
    const [root = "", ...modifiers] = chain.split(".");
    const given = root === "test" ? root : initialiser(code, root);
    if (given !== undefined && /\btest\b/.test(given)) {
      const standings = [given, ...modifiers.map((each) => `.${each}`)].map(standingOfModifiers);
      return hasBody ? worst(standings) : "never";
    }
    if (chain === "") return "missing";
    argument = beforeGroups - chain.length;
  }
}

/** Where the callee of the call ends whose first argument begins here; undefined when none does. */
function endOfCallee(code: string, argument: number): number | undefined {
  const before = code.slice(0, argument).trimEnd();
  return before.endsWith("(") ? before.length - 1 : undefined;
}

/** Goes before the arguments of calls that make the callee, such as those of `each`. */
function skipGroups(code: string, end: number): number {
  let at = end;
  while (code[at - 1] === ")") {
    for (let depth = 0; at > 0; ) {
      at -= 1;
      if (code[at] === ")") depth += 1;
      if (code[at] === "(") depth -= 1;
      if (depth === 0) break;
    }
  }
  return at;
}

function initialiser(code: string, name: string): string | undefined {
  return new RegExp(`\\b(?:const|let|var) ${RegExp.escape(name)} = ([^;]*);`).exec(code)?.[1];
}

/** Of `test`, a choice between two of them, or what is put behind it or `describe`. */
function standingOfModifiers(text: string): Standing {
  const mayRun = /\?/.test(text) || /\.(if|skipIf|todoIf)\b/.test(text);
  if (mayRun) return "conditional";
  return /\.(skip|todo|failing|only)\b/.test(text) ? "never" : "runs";
}
