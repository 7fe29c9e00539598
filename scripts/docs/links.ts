import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { blankFences } from "./fences.ts";

/** A Markdown page whose links are checked. Paths are relative to `root` and use `/`. */
export interface LinkingPage {
  root: string;
  path: string;
  text: string;
}

/**
 * Returns the relative links of a page that point to a missing file or heading, as `line: reason`. `packed` lists the
 * files of the package. A page in the package may only link to other files in the package, because users do not have
 * the repository.
 */
export function findBrokenLinks(page: LinkingPage, packed: readonly string[] = []): string[] {
  return findLinks(page).flatMap(({ line, target, file, heading }) => {
    const reason = whyBroken(page, file, heading) ?? whyNotPacked(page, file, packed);
    return reason === undefined ? [] : [`${line}: link to ${target}: ${reason}`];
  });
}

interface Link {
  line: number;
  target: string;
  /** The linked file, relative to the root. */
  file: string;
  heading: string | undefined;
}

/** Returns the links of a page to files and headings of the repository. */
export function findLinks({ path, text }: Pick<LinkingPage, "path" | "text">): Link[] {
  return blankFences(text)
    .split("\n")
    .flatMap((line, index) =>
      linkTargets(line).map((target) => {
        const [file = "", heading] = target.split("#");
        const linked = file === "" ? path : posix.join(posix.dirname(path), decodeURIComponent(file));
        return { line: index + 1, target, file: linked.replace(/\/$/, ""), heading };
      }),
    );
}

function linkTargets(line: string): string[] {
  const prose = line.replace(/`[^`]*`/g, (code) => " ".repeat(code.length));
  const inline = Array.from(prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g), (match) => match[1]!);
  const reference = /^\s*\[[^\]]+\]:\s*(\S+)/.exec(prose)?.[1];
  return (reference === undefined ? inline : [...inline, reference]).filter(
    (target) => !/^[a-z][a-z+.-]*:/i.test(target),
  );
}

function whyBroken({ root, path, text }: LinkingPage, file: string, heading: string | undefined): string | undefined {
  const linked = join(root, file);
  if (file !== path && !existsSync(linked)) return `${file} does not exist`;
  if (heading === undefined || heading === "" || !file.endsWith(".md")) return undefined;
  const anchors = headingAnchors(file === path ? text : readFileSync(linked, "utf8"));
  return anchors.has(decodeURIComponent(heading)) ? undefined : `the heading #${heading} does not exist`;
}

function whyNotPacked({ path }: LinkingPage, file: string, packed: readonly string[]): string | undefined {
  if (!packed.includes(path) || packed.some((it) => it === file || it.startsWith(`${file}/`))) return undefined;
  return `${file} is not in the package, but this page is. Name the file without a link`;
}

/**
 * Returns the anchors that GitHub generates: lower case, without punctuation, hyphens for spaces, and numbers for
 * repetitions.
 */
function headingAnchors(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const line of blankFences(text).split("\n")) {
    const title = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (title === undefined) continue;
    const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = plain.replace(/[^\p{L}\p{N}_\- ]/gu, "").replace(/ /g, "-");
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}
