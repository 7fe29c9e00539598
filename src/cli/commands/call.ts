import { toData } from "../../operation/inside.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { usageError } from "../failures.ts";
import { describeUnknownKeys, inputOptions, readInput } from "../input.ts";
import { createPrinter, type Printer, resultOptions } from "../print.ts";
import { findOperation, type Target, targetOptions, withTarget } from "../target.ts";

/** The parts of a command that passes input to an operation. */
const operationCommand = {
  arguments: "ID [KEY=VALUE|KEY:=JSON|KEY@=FILE …]",
  completes: "operation and input",
  options: { ...inputOptions, ...resultOptions, ...targetOptions },
} as const;

/** `operations call ID [KEY=VALUE …]` */
export const call = defineCommand({
  ...operationCommand,
  examples: [
    'call task.create title="Ship it"',
    'call task.create --input \'{"title":"Ship it"}\'',
    "call api.getUser id=7 --openapi https://api.example.com/openapi.json --jq .name --raw",
    'call tools.read_file path=notes.txt --mcp-command "npx -y @modelcontextprotocol/server-filesystem ."',
  ],
  run: async (context) => {
    const printer = await createPrinter(context, "document");
    const { envelope: isWhole } = context.options;
    await withInput(context, printer, async (target, id, input) => {
      const envelope = await target.call(id, input);
      if (isWhole) await printer.print(envelope);
      const data = toData(envelope); // Throws for the error result of an MCP tool.
      if (!isWhole) await printer.print(data);
    });
  },
});

/** `operations subscribe ID [KEY=VALUE …]` */
export const subscribe = defineCommand({
  ...operationCommand,
  examples: [
    "subscribe task.changes",
    "subscribe task.changes project=docs --count 3",
    "subscribe task.changes --jq .title --raw | head -1",
  ],
  options: {
    count: { type: "string", value: "N", description: "End after this number of values." },
    ...operationCommand.options,
  },
  run: async (context) => {
    const { count, envelope: isWhole } = context.options;
    if (count !== undefined && !/^[1-9]\d{0,8}$/.test(count)) {
      throw usageError("The option --count takes a whole number above 0.");
    }
    const printer = await createPrinter(context, "lines");
    await withInput(context, printer, async (target, id, input) => {
      let printed = 0;
      for await (const envelope of target.subscribe(id, input)) {
        await printer.print(isWhole ? envelope : envelope.data);
        printed += 1;
        if (printed === Number(count)) break;
      }
    });
  },
});

/** Opens the target, reads the input of the operation, runs it, and closes the target and the printer. */
async function withInput(
  context: CommandContext<typeof operationCommand.options>,
  printer: Printer,
  run: (target: Target, id: string, input: unknown) => Promise<void>,
): Promise<void> {
  const { options, signal, folder, positionals, stderr } = context;
  const [id = "", ...pairs] = positionals;
  context.operation = id;
  try {
    await withTarget(context, async (target) => {
      // Without pairs the schema is not needed here: the call itself checks the input, and whether the operation exists.
      const schema = pairs.length === 0 ? undefined : (await findOperation(target, id)).inputSchema;
      const input = await readInput({ input: options.input, pairs, folder, signal }, schema);
      await stderr.write(describeUnknownKeys(pairs, schema));
      await run(target, id, input);
    });
  } finally {
    await printer.close();
  }
}
