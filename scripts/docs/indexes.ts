import { findLinks } from "./links.ts";

/** A page that must link all files of a group. */
export interface IndexPage {
  path: string;
  text: string;
  /** Files that it must link, or folders of which it must link one file. Relative to the root. */
  targets: readonly string[];
}

/** Returns the targets that an index page does not link, as `path: reason`. */
export function findOrphans({ path, text, targets }: IndexPage): string[] {
  const linked = findLinks({ path, text }).map(({ file }) => file);
  return targets
    .filter((target) => !linked.some((file) => file === target || file.startsWith(`${target}/`)))
    .map((target) => `${path}: does not link ${target}. Add a line for it.`);
}
