import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { CommandOption } from "../../src/cli/command.ts";
import { loadCommand, summaries } from "../../src/cli/commands.ts";
import { targetOptions } from "../../src/cli/target.ts";
import { root } from "../subpaths.ts";

type Row = readonly string[];

/** Tables that pages contain between `<!-- table NAME -->` and `<!-- end of table -->`, from the code that they describe. */
const tables: Record<string, (argument: string) => Promise<Row[]>> = {
  commands: async () => [
    ["command", "what it does"],
    ...Object.entries(summaries).map(([name, text]) => [code(name), text]),
  ],
  options: async (name) => {
    const options: Readonly<Record<string, CommandOption>> =
      name === "target" ? targetOptions : (await loadCommand(name)).options;
    const own = Object.entries(options).filter(([key]) => name === "target" || !Object.hasOwn(targetOptions, key));
    return [["option", "what it does"], ...own.map(([key, option]) => [formatOption(key, option), option.description])];
  },
  config: async (key) => {
    const schema = JSON.parse(readFileSync(resolve(root, "src/hub/config.schema.json"), "utf8"));
    const fields: Record<string, { description: string }> = schema.properties[key].properties;
    const rows = Object.entries(fields).map(([name, { description }]) => {
      const [, text = description, initial = ""] = /^(.*?)(?: Default: (.*)\.)?$/s.exec(description) ?? [];
      return [code(name), text, initial];
    });
    return [["field", "meaning", "default"], ...rows];
  },
  limits: async () => {
    const text = readFileSync(resolve(root, "src/operation/limits.ts"), "utf8");
    const found = text.matchAll(/\/\*\* (.*?) @default (.*?) \*\/\s*(\w+):/g);
    const rows = Array.from(found, ([, bounds = "", initial = "", name = ""]) => [code(name), initial, bounds]);
    return [["limit", "default", "bounds"], ...rows];
  },
};

const marked = /(<!-- table (\w+)(?: ([\w-]+))? -->\n)[\s\S]*?(<!-- end of table -->)/g;

/** Fills the tables of a page. Throws for a name that is not the name of a table. */
export async function fillTables(text: string): Promise<string> {
  const contents: string[] = [];
  for (const [, , name = "", argument = ""] of text.matchAll(marked)) {
    const table = tables[name];
    if (table === undefined) throw new Error(`There is no table "${name}".`);
    contents.push(format(await table(argument)));
  }
  return text.replace(
    marked,
    (_, begin: string, _name, _argument, end: string) => `${begin}\n${contents.shift()}\n\n${end}`,
  );
}

function formatOption(name: string, { short, value }: CommandOption): string {
  return code([short === undefined ? "" : `-${short}, `, `--${name}`, value === undefined ? "" : ` ${value}`].join(""));
}

function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

function format(rows: readonly Row[]): string {
  const [head = [], ...body] = rows;
  const line = `|${"---|".repeat(head.length)}`;
  return [toLine(head), line, ...body.map(toLine)].join("\n");
}

function toLine(cells: Row): string {
  return `| ${cells.join(" | ")} |`.replaceAll("|  |", "| |");
}
