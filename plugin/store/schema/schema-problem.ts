import type { SchemaState } from "./schema-state.ts";

/** Why the plugin can't run on a schema, for a person, with the command that comes next. Undefined when it can. */
export function schemaProblem(state: SchemaState, schema: string): string | undefined {
  return explainState(state, schema)?.text;
}

/** The text of {@link schemaProblem} and the command that it names. Undefined when the plugin can run. */
export function explainState(
  state: SchemaState,
  schema: string,
): { readonly text: string; readonly next: string } | undefined {
  const it = `PostgreSQL schema "${schema}"`;
  switch (state.kind) {
    case "absent": {
      const next = `lenso-jobs setup ${schema}`;
      return { next, text: `${it} does not exist: run "${next}"` };
    }
    case "unmanaged": {
      const next = "lenso-jobs setup OTHER_SCHEMA";
      const text = `${it} exists and was not made by lenso-jobs, which never adopts one: choose another name and run "${next}"`;
      return { next, text };
    }
    case "behind": {
      const next = `lenso-jobs upgrade ${schema}`;
      return { next, text: `${it} is at version ${state.from}, this build needs ${state.to}: run "${next}"` };
    }
    case "diverged": {
      const next = `lenso-jobs check ${schema}`;
      const text = `${it} has diverged from this build's migrations: version ${state.version} ${state.reason}. Restore it from a backup or deploy the build that made it, then run "${next}"`;
      return { next, text };
    }
    case "not_owned": {
      if (state.role === state.owner) {
        const next = `lenso-jobs check ${schema}`;
        const text = `role "${state.role}" owns ${it} but may not use all of it (missing: ${state.missing.join(", ")}): another role owns these tables; give them back by ALTER TABLE … OWNER TO, then run "${next}"`;
        return { next, text };
      }
      const next = `lenso-jobs setup ${schema} --runtime-role ${shellWord(state.role)}`;
      const text = `role "${state.role}" may not use ${it} (missing: ${state.missing.join(", ")}): its owner "${state.owner}" runs "${next}"`;
      return { next, text };
    }
    case "ahead": {
      if (state.runnable) return undefined;
      const next = "bun add lenso-jobs-plugin@latest";
      const text = `${it} is at version ${state.from}, which takes build ${state.oldestBuild} or newer, and this is build ${state.to}: deploy a newer release, as by "${next}"`;
      return { next, text };
    }
    case "current":
      return undefined;
  }
}

function shellWord(text: string): string {
  return /^[A-Za-z0-9_]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
