import { quote } from "../../internal/text.ts";
import { CallError, isCallError } from "../../operation/index.ts";
import { defineCommand } from "../command.ts";
import { usageError } from "../failures.ts";
import { inputOptions, readInput } from "../input.ts";
import { createPrinter, resultOptions } from "../print.ts";
import { findOperation, targetOptions, timeoutOf, withTarget } from "../target.ts";

/** `operations subscribe ID [KEY=VALUE …]` */
export const subscribe = defineCommand({
  examples: [
    "subscribe task.changes",
    "subscribe task.changes project=docs --count 3",
    "subscribe task.changes --jq .title --raw | head -1",
  ],
  arguments: "ID [KEY=VALUE|KEY:=JSON|KEY@=FILE …]",
  minArguments: 1,
  maxArguments: Number.POSITIVE_INFINITY,
  completes: "operation and input",
  options: {
    count: { type: "string", value: "N", description: "End after this number of values." },
    ...inputOptions,
    ...resultOptions,
    ...targetOptions,
    timeout: { ...targetOptions.timeout, description: "Time limit, such as 500ms or 5s. Default: no limit." },
  },
  run: async (context) => {
    const { options, signal, folder } = context;
    const [id = "", ...pairs] = context.positionals;
    context.operation = id;
    const count = parseCount(options.count);
    const printer = await createPrinter(context, "lines");
    try {
      await withTarget(context, async (target) => {
        const limits = { signal, timeout: options.timeout === undefined ? undefined : timeoutOf(context) };
        const schema = pairs.length === 0 ? undefined : (await findOperation(target, id, limits)).inputSchema;
        const input = await readInput({ input: options.input, pairs, folder, signal }, schema);
        let printed = 0;
        for await (const envelope of target.subscribe(id, input, limits)) {
          await printer.print(options.envelope ? envelope : envelope.data);
          printed += 1;
          if (printed === count) break;
        }
      });
    } catch (error) {
      throw isCallError(error) && error.code === "WRONG_OPERATION_TYPE" ? notSubscription(id) : error;
    } finally {
      await printer.close();
    }
  },
});

function parseCount(count: string | undefined): number | undefined {
  if (count === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(count)) return Number(count);
  throw usageError("The option --count takes a whole number above 0.");
}

function notSubscription(id: string): CallError {
  const message = `${quote(id)} is not a subscription. Run "operations call ${id}".`;
  return new CallError("WRONG_OPERATION_TYPE", message, undefined, { mayHaveRun: false });
}
