import { mapFences } from "./fences.ts";

/**
 * A block of a page that is a whole program: ` ```ts program source="…" `. A reader can copy it into a file and run it.
 */
export interface PageProgram {
  /** The page, relative to the root. */
  path: string;
  /** The line of the block, from 1. */
  line: number;
  /** The example that contains the program, by its path. It determines the required brokers. */
  example: string;
  content: string;
  /** The output that the page shows in the next block, if that block has `output="…"`. */
  shown?: string;
}

/** Returns the programs of a page. */
export function listPagePrograms(path: string, text: string): PageProgram[] {
  const programs: PageProgram[] = [];
  let last: PageProgram | undefined;
  mapFences(text, ({ line, attributes: { program, source = "", output }, content }) => {
    if (program !== undefined) {
      last = { path, line, example: source.replace(/#.*/, ""), content };
      programs.push(last);
    } else {
      if (last !== undefined && output !== undefined) last.shown = content;
      last = undefined;
    }
    return undefined;
  });
  return programs;
}
