const marker = /^\s*\/\/ #(region|endregion) (\S+)\s*$/;

/**
 * Returns the lines between `// #region name` and `// #endregion name`, without markers and common indentation. A
 * region may be opened more than once; its parts are joined by an empty line. Without a name, returns the whole file.
 */
export function readRegion(text: string, name: string | undefined): string {
  const pieces = name === undefined ? [text.split("\n")] : findPieces(text, name);
  return pieces.map((lines) => dedent(lines.filter((line) => !marker.test(line)))).join("\n\n");
}

function findPieces(text: string, name: string): string[][] {
  const pieces: string[][] = [];
  let open: string[] | undefined;
  for (const line of text.split("\n")) {
    const [, kind, found] = marker.exec(line) ?? [];
    if (found !== name) {
      open?.push(line);
    } else if (kind === "region") {
      if (open) throw new Error(`region "${name}" is opened twice without an end`);
      open = [];
      pieces.push(open);
    } else {
      if (!open) throw new Error(`region "${name}" ends before it begins`);
      open = undefined;
    }
  }
  if (open) throw new Error(`region "${name}" has no end`);
  if (pieces.length === 0) throw new Error(`there is no region "${name}"`);
  return pieces;
}

function dedent(lines: string[]): string {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
  const common = indents.length === 0 ? 0 : Math.min(...indents);
  return lines
    .map((line) => line.slice(common))
    .join("\n")
    .replace(/^(\s*\n)+/, "")
    .trimEnd();
}
