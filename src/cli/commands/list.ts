import { truncate } from "../../internal/text.ts";
import { formatOperationId, type OperationSpec } from "../../operation/inside.ts";
import { defineCommand } from "../command.ts";
import { type OutputStream, toPrintableLine } from "../output-stream.ts";
import { createDataPrinter, valueOptions } from "../print.ts";
import { describeUnready, readSources, setToken, type Target, targetOptions, withTarget } from "../target.ts";

/** Minimum width of descriptions on a terminal, in characters. */
const minDescriptionWidth = 20;

/** `operations list [QUERY]` */
export const list = defineCommand({
  examples: [
    "list",
    "list invoice",
    "list --openapi https://api.example.com/openapi.json",
    `list --json --jq '.[] | select(.type == "mutation").id'`,
  ],
  arguments: "[QUERY]",
  options: { ...valueOptions, ...targetOptions },
  run: async (context) => {
    const { positionals, stdout, stderr } = context;
    const printer = await createDataPrinter(context);
    await withTarget(context, async (target) => {
      const found = await target.find({ query: positionals[0], brief: printer === undefined });
      await stderr.write(await describeMissing(target));
      const specs = positionals[0] === undefined ? found.toSorted(compareNamespaces) : found;
      if (printer === undefined) {
        if (specs.length === 0) await stderr.write("No operation was found.\n");
        return stdout.write(formatTable(specs, stdout));
      }
      await printer.print(specs.map((spec) => ({ id: idOf(spec), ...spec })));
      await printer.close();
    });
  },
});

/** Returns why operations may be missing in the list, one line each. */
async function describeMissing(target: Target): Promise<string> {
  if (target.hasToken === false)
    return `No token is set, so only operations for every caller are listed. ${setToken}\n`;
  const sources = (await readSources(target)) ?? [];
  // A hub in this process has logged the reasons.
  const reported = sources.filter(({ reason }) => target.hasToken === true || reason === undefined);
  return describeUnready(reported)
    .map((line) => `${toPrintableLine(line)}\n`)
    .join("");
}

/** Sorts by namespace, because sources connect in any order. The operations that manage a hub are last. */
function compareNamespaces({ namespace: a }: OperationSpec, { namespace: b }: OperationSpec): number {
  return Number(a === "hub") - Number(b === "hub") || a.localeCompare(b, "en");
}

function idOf({ namespace, name }: OperationSpec): string {
  return formatOperationId(namespace, name);
}

/** Formats a table for a person, and lines with tabs between the columns for programs. */
function formatTable(specs: readonly OperationSpec[], { columns, colors }: OutputStream): string {
  const rows = specs.map((spec) => ({
    id: toPrintableLine(idOf(spec)),
    type: spec.type,
    description: toPrintableLine(spec.title ?? spec.description.split("\n", 1)[0]!),
  }));
  if (columns === undefined) return rows.map((row) => `${row.id}\t${row.type}\t${row.description}\n`).join("");
  const idWidth = Math.max(...rows.map(({ id }) => id.length), 0);
  const typeWidth = Math.max(...rows.map(({ type }) => type.length), 0);
  const room = Math.max(columns - idWidth - typeWidth - 4, minDescriptionWidth);
  return rows
    .map(({ id, type, description }) => {
      const left = `${colors.bold(id.padEnd(idWidth))}  ${colors.cyan(type.padEnd(typeWidth))}`;
      return `${description === "" ? left.trimEnd() : `${left}  ${colors.dim(truncate(description, room))}`}\n`;
    })
    .join("");
}
