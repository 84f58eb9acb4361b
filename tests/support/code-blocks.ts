export interface CodeBlock {
  /** Where its first line stands in the page, from 1. */
  readonly line: number;
  readonly code: string;
}

/** The fenced blocks of one language in a Markdown page, also those that are indented in a list. */
export function codeBlocks(markdown: string, language: string): CodeBlock[] {
  const fence = new RegExp(`^( *)\`\`\`${language}[^\\n\`]*\\n([\\s\\S]*?)^ *\`\`\` *$`, "gm");
  return Array.from(markdown.matchAll(fence), (match) => {
    const [, indent = "", code = ""] = match;
    return {
      line: markdown.slice(0, match.index).split("\n").length + 1,
      code: code.replace(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

/** The first block after a marker such as `<!-- program -->`. Undefined without the marker or a block after it. */
export function codeBlockAfter(markdown: string, marker: string, language: string): string | undefined {
  const start = markdown.indexOf(marker);
  return start < 0 ? undefined : codeBlocks(markdown.slice(start), language)[0]?.code;
}
