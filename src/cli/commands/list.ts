import { formatOperationId, type OperationSpec } from "../../operation/inside.ts";
import { defineCommand } from "../command.ts";
import { toPrintableLine } from "../output-stream.ts";
import { createDataPrinter, valueOptions } from "../print.ts";
import { formatTable } from "../table.ts";
import { describeUnready, readSources, type Target, targetOptions, withTarget } from "../target.ts";

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
        const rows = specs.map((spec) => [idOf(spec), spec.type, spec.title ?? spec.description.split("\n", 1)[0]!]);
        const { bold, cyan, dim } = stdout.colors;
        return stdout.write(formatTable(rows, stdout, [bold, cyan, dim]));
      }
      await printer.print(specs.map((spec) => ({ id: idOf(spec), ...spec })));
      await printer.close();
    });
  },
});

/** Returns why operations may be missing in the list, one line each. */
async function describeMissing(target: Target): Promise<string> {
  const sources = (await readSources(target)) ?? [];
  const reported = sources.filter(({ reason }) => target.isHub === true || reason === undefined);
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
