import type { SchemaState } from "./schema-ledger.ts";
import type { SchemaOwner } from "./schema-owner.ts";

/** Why a build cannot work on a schema, and what to run next. Undefined when it can. */
export function schemaProblem(
  { command: name }: SchemaOwner,
  state: SchemaState,
  schema: string,
  build: number,
): string | undefined {
  const it = `PostgreSQL schema "${schema}"`;
  const command = `${name}({ schema: "${schema}", … })`;
  switch (state.kind) {
    case "absent":
      return `${it} does not exist: run ${command}`;
    case "unmanaged":
      return `${it} was not made by ${name}, which never adopts one: run it with another schema`;
    case "diverged":
      return `${it} has diverged from this build's migrations at version ${state.version}: restore it, or deploy the build that made it`;
    case "managed":
      if (state.version < build)
        return `${it} is at version ${state.version}, this build needs ${build}: run ${command}`;
      if (state.oldestBuild > build)
        return `${it} is at version ${state.version}, which takes build ${state.oldestBuild} or newer, and this is build ${build}: deploy a newer release`;
      return undefined;
  }
}
