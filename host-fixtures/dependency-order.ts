import type { BindingSpec } from "./composition.ts";

/** The keys, each after the providers that it is bound to and otherwise in their own order; or a cycle, first key repeated last. */
export function providersFirst(
  keys: readonly string[],
  bindings: readonly BindingSpec[],
): { readonly keys: readonly string[] } | { readonly cycle: readonly string[] } {
  const sorted = new Set<string>();
  let cycle: readonly string[] | undefined;

  const visit = (key: string, path: readonly string[]): void => {
    if (sorted.has(key) || cycle) return;
    if (path.includes(key)) {
      cycle = [...path.slice(path.indexOf(key)), key];
      return;
    }
    for (const { consumer, provider } of bindings) if (consumer === key) visit(provider, [...path, key]);
    sorted.add(key);
  };
  for (const key of keys) visit(key, []);
  return cycle ? { cycle } : { keys: [...sorted] };
}
