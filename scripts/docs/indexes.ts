import { findLinks } from "./links.ts";

/** A page that has to link everything of one kind. */
export interface IndexPage {
  path: string;
  text: string;
  /** What it has to link: files, or folders of which one file is linked. Relative to the root. */
  targets: readonly string[];
}

/** Returns, as `path: reason`, what an index page does not link. */
export function findOrphans({ path, text, targets }: IndexPage): string[] {
  const linked = findLinks({ path, text }).map(({ file }) => file);
  return targets
    .filter((target) => !linked.some((file) => file === target || file.startsWith(`${target}/`)))
    .map((target) => `${path}: does not link ${target}. Add a line for it.`);
}
