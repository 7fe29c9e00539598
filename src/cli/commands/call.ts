import { quote } from "../../internal/text.ts";
import { CallError, isCallError, toData } from "../../operation/index.ts";
import { defineCommand } from "../command.ts";
import { inputOptions, readInput } from "../input.ts";
import { createPrinter, resultOptions } from "../print.ts";
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
  completes: "operation and input",
  options: {
    ...inputOptions,
    ...resultOptions,
    ...targetOptions,
  },
  run: async (context) => {
    const { options, signal, folder } = context;
    const [id = "", ...pairs] = context.positionals;
    context.operation = id;
    const printer = await createPrinter(context, "document");
    try {
      await withTarget(context, async (target) => {
        const limits = { signal, timeout: timeoutOf(context) };
        // Without pairs the schema is not needed here: the call itself checks the input, and whether the operation exists.
        const schema = pairs.length === 0 ? undefined : (await findOperation(target, id, limits)).inputSchema;
        const input = await readInput({ input: options.input, pairs, folder, signal }, schema);
        const envelope = await target.call(id, input, limits);
        if (options.envelope) await printer.print(envelope);
        const data = toData(envelope); // Throws for the error result of an MCP tool.
        if (!options.envelope) await printer.print(data);
      });
    } catch (error) {
      throw isCallError(error) && error.code === "WRONG_OPERATION_TYPE" ? isSubscription(id) : error;
    } finally {
      await printer.close();
    }
  },
});

function isSubscription(id: string): CallError {
  const message = `${quote(id)} is a subscription. Run "operations subscribe ${id}".`;
  return new CallError("WRONG_OPERATION_TYPE", message, undefined, { mayHaveRun: false });
}
