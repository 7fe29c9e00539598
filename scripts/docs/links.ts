import { existsSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { blankFences } from "./fences.ts";

/** Says, as `line: reason`, which relative links of a Markdown page lead nowhere: to no file, or to no heading in it. */
export function findBrokenLinks(path: string, text: string): string[] {
  return blankFences(text)
    .split("\n")
    .flatMap((line, index) =>
      linkTargets(line).flatMap((target) => {
        const reason = whyBroken(path, text, target);
        return reason === undefined ? [] : [`${index + 1}: link to ${target}: ${reason}`];
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

function whyBroken(path: string, text: string, target: string): string | undefined {
  const [file = "", heading] = target.split("#");
  const linked = file === "" ? path : resolve(dirname(path), decodeURIComponent(file));
  if (linked !== path && !existsSync(linked)) return `no ${relative(process.cwd(), linked)}`;
  if (heading === undefined || heading === "" || !linked.endsWith(".md")) return undefined;
  const page = linked === path ? text : readFileSync(linked, "utf8");
  return headingAnchors(page).has(decodeURIComponent(heading)) ? undefined : `no heading #${heading}`;
}

/** Anchors as GitHub makes them: lower case, punctuation dropped, spaces to hyphens, repeats numbered. */
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
