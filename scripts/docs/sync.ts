import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { mapFences } from "./fences.ts";
import { findBrokenLinks } from "./links.ts";
import { isShownTruly, readOutput } from "./output.ts";
import { readRegion } from "./regions.ts";

/** A page with its code blocks filled, and what is wrong with it, as `path:line: reason`. */
export interface SyncedPage {
  text: string;
  problems: string[];
}

/** Fills the blocks of one page, whose path is relative to `root`, from the files that they name. */
export async function syncPage(root: string, path: string, text: string): Promise<SyncedPage> {
  try {
    return fillPage(root, path, text, await readOutputs(root, text));
  } catch (error) {
    return { text, problems: [`${path}:${messageOf(error)}`] };
  }
}

function fillPage(root: string, path: string, text: string, outputs: Map<string, string | Error>): SyncedPage {
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
  if (path.endsWith(".md")) problems.push(...findBrokenLinks(resolve(root, path), text).map((it) => `${path}:${it}`));
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

async function readOutputs(root: string, text: string): Promise<Map<string, string | Error>> {
  const programs = new Set<string>();
  mapFences(text, ({ attributes: { output } }) => {
    if (output !== undefined) programs.add(output);
    return undefined;
  });
  const outputs = new Map<string, string | Error>();
  for (const path of programs) {
    const missing = existsSync(resolve(root, path)) ? undefined : new Error(`there is no file ${path}`);
    outputs.set(path, missing ?? (await readOutput(path).catch((error: Error) => error)));
  }
  return outputs;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
