import type { SourceState } from "../../hub/index.ts";
import { defineCommand } from "../command.ts";
import { createDataPrinter, valueOptions } from "../print.ts";
import { formatTable, formatTime } from "../table.ts";
import { countOf, hubOptions, withHub } from "../target.ts";

/** `operations sources` */
export const sources = defineCommand({
  examples: [
    "sources",
    "sources --hub http://127.0.0.1:4000",
    `sources --json --jq '.[] | select(.status != "ready")'`,
  ],
  options: { ...valueOptions, ...hubOptions },
  run: async (context) => {
    const { stdout, stderr } = context;
    const printer = await createDataPrinter(context);
    const states = await withHub(context, async ({ call }) => (await call("hub.sources", {})).data as SourceState[]);
    if (printer !== undefined) {
      await printer.print(states);
      return printer.close();
    }
    if (states.length === 0) await stderr.write("The hub has no sources.\n");
    const { bold, dim } = stdout.colors;
    await stdout.write(formatTable(states.map(toRow), stdout, [bold, dim]));
  },
});

function toRow({ name, kind, status, since, operations, reason = "", nextAttempt }: SourceState): string[] {
  const next = nextAttempt === undefined ? "" : `Next attempt: ${formatTime(nextAttempt)}. `;
  return [name, kind, status, countOf(operations, "operation"), `since ${formatTime(since)}`, `${next}${reason}`];
}
