/**
 * The paths of keys that an object of this JSON text holds twice. `JSON.parse` keeps the last of them without a word. The
 * text must be JSON: that is not checked here. Elements of an array have their index in the path.
 */
export function duplicateJsonKeys(text: string): readonly (readonly string[])[] {
  const duplicates: string[][] = [];
  const open: { keys: Set<string> | undefined; at: string }[] = [];
  let before = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g)) {
    const inner = open.at(-1);
    if (token === "{") open.push({ keys: new Set(), at: "" });
    else if (token === "[") open.push({ keys: undefined, at: "0" });
    else if (token === "}" || token === "]") open.pop();
    else if (token === "," && inner && !inner.keys) inner.at = String(Number(inner.at) + 1);
    else if (token === ":" && inner?.keys) {
      inner.at = JSON.parse(before) as string;
      if (inner.keys.has(inner.at)) duplicates.push(open.map((level) => level.at));
      inner.keys.add(inner.at);
    }
    before = token;
  }
  return duplicates;
}
