/** Creates a test whether a string matches one of the globs, in which `*` matches any characters. Linear time per glob. */
export function createGlobs(globs: readonly string[]): (text: string) => boolean {
  const exact = new Set(globs.filter((glob) => !glob.includes("*")));
  const patterns = globs.filter((glob) => glob.includes("*")).map((glob) => glob.split("*"));
  return (text) => exact.has(text) || patterns.some((parts) => matches(parts, text));
}

function matches(parts: string[], text: string): boolean {
  const [first, last] = [parts[0]!, parts.at(-1)!];
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
