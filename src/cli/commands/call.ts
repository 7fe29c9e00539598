import { quote } from "../../internal/text.ts";
import { CallError, OperationType, toData } from "../../operation/index.ts";
import { defineCommand } from "../command.ts";
import { inputOptions, readInput } from "../input.ts";
import { createPrinter, valueOptions } from "../print.ts";
import { findOperation, targetOptions, timeoutOf, withTarget } from "../target.ts";

/** `operations call ID [KEY=VALUE …]` */
export const call = defineCommand({
  examples: [
    'call task.create title="Ship it"',
    'call task.create --input \'{"title":"Ship it"}\'',
    "call api.getUser id=7 --openapi https://api.example.com/openapi.json --jq .name --raw",
    'call mcp.read_file path=notes.txt --mcp-command "npx -y @modelcontextprotocol/server-filesystem ."',
  ],
  arguments: "ID [KEY=VALUE|KEY:=JSON|KEY@=FILE …]",
  minArguments: 1,
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    ...inputOptions,
    ...valueOptions,
    envelope: { type: "boolean", description: "Print the whole envelope, data and meta." },
    ...targetOptions,
  },
  run: async (context) => {
    const { options, signal, folder } = context;
    const [id = "", ...pairs] = context.positionals;
    context.operation = id;
    const printer = await createPrinter(context, "document");
    try {
      await withTarget(context, async (target) => {
        const spec = await findOperation(target, id);
        if (spec.type === OperationType.SUBSCRIPTION) throw isSubscription(id);
        const input = await readInput({ input: options.input, pairs, folder }, spec.inputSchema);
        const envelope = await target.call(id, input, { signal, timeout: timeoutOf(context) });
        if (options.envelope) await printer.print(envelope);
        const data = toData(envelope); // Throws for the error result of an MCP tool.
        if (!options.envelope) await printer.print(data);
      });
    } finally {
      await printer.close();
    }
  },
});

function isSubscription(id: string): CallError {
  const message = `${quote(id)} is a subscription. Run "operations subscribe ${id}".`;
  return new CallError("WRONG_OPERATION_TYPE", message, undefined, { mayHaveRun: false });
}
