import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { mapFences } from "./fences.ts";
import { findBrokenLinks, type LinkingPage } from "./links.ts";
import { isShownTruly } from "./output.ts";
import { readRegion } from "./regions.ts";
import { fillTables } from "./tables.ts";

/** A page with filled code blocks, and its problems as `path:line: reason`. */
export interface SyncedPage {
  text: string;
  problems: string[];
}

/** Returns the output of a program, or `undefined` if it cannot run on this machine. Throws if it failed. */
export type ReadOutput = (program: string) => Promise<string | undefined>;

/**
 * Fills the blocks of one page from the files that they name, and checks its links. `packed` lists the package's files.
 */
export async function syncPage(
  page: LinkingPage,
  readOutput: ReadOutput,
  packed: readonly string[] = [],
): Promise<SyncedPage> {
  const { root, path, text } = page;
  try {
    const filled = fillPage(page, await readOutputs(root, text, readOutput), packed);
    return { ...filled, text: await fillTables(filled.text) };
  } catch (error) {
    return { text, problems: [`${path}:${messageOf(error)}`] };
  }
}

function fillPage(
  page: LinkingPage,
  outputs: Map<string, string | Error | undefined>,
  packed: readonly string[],
): SyncedPage {
  const { root, path, text } = page;
  const problems: string[] = [];
  const filled = mapFences(text, ({ line, language, attributes, content }) => {
    try {
      const { source, output } = attributes;
      if (source !== undefined) return readSource(root, source);
      if (output !== undefined) {
        const printed = outputs.get(output);
        if (printed instanceof Error) throw printed;
        return printed === undefined || isShownTruly(content, printed) ? undefined : printed;
      }
      if (isCode(language))
        throw new Error(`a ${language} block needs source="file#region", so that it is code that runs`);
    } catch (error) {
      problems.push(`${path}:${line}: ${messageOf(error)}`);
    }
    return undefined;
  });
  if (path.endsWith(".md")) problems.push(...findBrokenLinks(page, packed).map((it) => `${path}:${it}`));
  return { text: filled, problems };
}

function isCode(language: string): boolean {
  return /^(ts|tsx|mts|typescript|js|mjs|javascript)$/.test(language);
}

function readSource(root: string, source: string): string {
  const [file = "", region] = source.split("#");
  const path = resolve(root, file);
  if (!existsSync(path)) throw new Error(`there is no file ${file}`);
  try {
    return readRegion(readFileSync(path, "utf8"), region);
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`);
  }
}

/** Returns the programs whose output a page shows, without those that do not exist. */
export function listPrograms(root: string, text: string): string[] {
  return findPrograms(text).filter((path) => existsSync(resolve(root, path)));
}

function findPrograms(text: string): string[] {
  const programs = new Set<string>();
  try {
    mapFences(text, ({ attributes: { output } }) => {
      if (output !== undefined) programs.add(output);
      return undefined;
    });
  } catch {
    // A block without an end is reported with its page.
  }
  return [...programs];
}

async function readOutputs(
  root: string,
  text: string,
  readOutput: ReadOutput,
): Promise<Map<string, string | Error | undefined>> {
  const outputs = new Map<string, string | Error | undefined>();
  for (const path of findPrograms(text)) {
    const missing = existsSync(resolve(root, path)) ? undefined : new Error(`there is no file ${path}`);
    outputs.set(path, missing ?? (await readOutput(path).catch((error: Error) => error)));
  }
  return outputs;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
