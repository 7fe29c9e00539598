import { truncate } from "../../internal/text.ts";
import { formatOperationId, type OperationSpec } from "../../operation/index.ts";
import { defineCommand } from "../command.ts";
import { type OutputStream, toPrintableLine } from "../output-stream.ts";
import { createPrinter, valueOptions } from "../print.ts";
import { targetOptions, timeoutOf, withTarget } from "../target.ts";

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
  maxArguments: 1,
  options: { ...valueOptions, ...targetOptions },
  run: async (context) => {
    const { options, positionals, stdout, stderr, signal } = context;
    const isTable = options.json !== true && options.jq === undefined && options.output === undefined;
    const printer = isTable ? undefined : await createPrinter(context, "document");
    await withTarget(context, async (target) => {
      const specs = await target.list(positionals[0], { brief: isTable, signal, timeout: timeoutOf(context) });
      if (printer === undefined) {
        if (specs.length === 0) await stderr.write("No operation was found.\n");
        return stdout.write(formatTable(specs, stdout));
      }
      await printer.print(specs.map((spec) => ({ id: idOf(spec), ...spec })));
      await printer.close();
    });
  },
});

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
