import { createGlobs } from "../../internal/globs.ts";
import { CallError } from "../../operation/index.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { usageError } from "../failures.ts";
import { type Colors, toPrintable, toPrintableLine } from "../output-stream.ts";
import { createDataPrinter, createPrinter, valueOptions } from "../print.ts";
import { formatDuration, formatTable, formatTime } from "../table.ts";
import { hubOptions, type Target, withHub } from "../target.ts";

/** A call as `hub.history`, `hub.call` and `hub.calls` return it. */
interface Call {
  id?: number;
  requestId: string;
  parentRequestId?: string | undefined;
  operationId: string;
  identity?: string | undefined;
  via: string;
  startedAt: number;
  duration: number;
  status: "running" | "succeeded" | "failed";
  code?: string | undefined;
  error?: { message: string };
}

const options = {
  follow: { type: "boolean", short: "f", description: "Print each call when it ends, until Ctrl-C." },
  operation: { type: "string", value: "ID", description: "Only calls of this operation; * matches any characters." },
  failed: { type: "boolean", description: "Only calls that failed." },
  limit: { type: "string", value: "N", description: "Number of calls. Default: 20." },
  ...valueOptions,
  ...hubOptions,
} as const;

type Context = CommandContext<typeof options>;

/** `operations calls [CALL]` */
export const calls = defineCommand({
  examples: ["calls", "calls -f", "calls --failed --operation 'github.*'", "calls 4711"],
  arguments: "[CALL]",
  options,
  run: (context) => {
    const { positionals, options } = context;
    if (positionals[0] !== undefined) return printTree(positionals[0], context);
    return options.follow ? follow(context) : printPage(context);
  },
});

/** Prints the last calls that no other call made, the latest last, as in a log. */
async function printPage(context: Context): Promise<void> {
  const { stdout, stderr, options } = context;
  const { limit = "20", operation, failed } = options;
  if (!/^[1-9]\d{0,2}$/.test(limit)) throw usageError("The option --limit takes a number from 1 to 999.");
  const printer = await createDataPrinter(context);
  const found = await withHub(context, async ({ call }) => {
    const filter = { operationId: operation, ...(failed && { status: "failed" }), roots: true, limit: Number(limit) };
    return (await call("hub.history", filter)).data as { calls: Call[] };
  });
  if (printer !== undefined) {
    await printer.print(found.calls);
    return printer.close();
  }
  if (found.calls.length === 0) await stderr.write("No call was found.\n");
  const rows = found.calls.toReversed().map((call) => [String(call.id ?? call.requestId), ...toRow(call)]);
  const { dim, bold } = stdout.colors;
  await stdout.write(formatTable(rows, stdout, [dim, dim, bold]));
}

/** The cells of a call: when it started, what was called, how it ended, how long it took, and who called. */
function toRow({
  startedAt,
  operationId,
  status,
  code,
  duration,
  via,
  identity = "anonymous",
}: Omit<Call, "requestId">) {
  return [formatTime(startedAt), operationId, code ?? status, formatDuration(duration), `${via}, ${identity}`];
}

/** Prints calls when they end. Those that other calls made are marked. */
async function follow(context: Context): Promise<void> {
  const { stdout, options } = context;
  const { json, jq, output, operation, failed } = options;
  const isData = json || jq !== undefined || output !== undefined;
  const printer = isData ? await createPrinter(context, "lines") : undefined;
  await withHub(context, async ({ subscribe }) => {
    const isWanted = createGlobs([operation ?? "*"]);
    for await (const { data } of subscribe("hub.calls", {})) {
      const call = data as Call;
      if (!isWanted(call.operationId) || (failed && call.status !== "failed")) continue;
      if (printer !== undefined) await printer.print(call);
      else if (call.status !== "running") await stdout.write(formatEnd(call, stdout.colors));
    }
  });
  await printer?.close();
}

/** Formats the end of a call in one line. `serve` prints the same. */
export function formatEnd(call: Omit<Call, "requestId">, { bold, dim, red }: Colors): string {
  const [, id, ending, duration, caller] = toRow(call).map(toPrintableLine);
  const mark = call.parentRequestId === undefined ? "" : "└─ ";
  const end = formatTime(call.startedAt + call.duration);
  const color = call.status === "failed" ? red : String;
  return `${dim(end)}  ${mark}${bold(id!)}  ${color(ending!)}  ${duration}  ${dim(caller!)}\n`;
}

/** Prints a call and the calls below it as a tree. */
async function printTree(name: string, context: Context): Promise<void> {
  const { stdout } = context;
  const printer = await createDataPrinter(context);
  const found = await withHub(context, (target) => readTree(name, target));
  if (printer !== undefined) {
    await printer.print(found);
    return printer.close();
  }
  const [root] = found.calls;
  if (root !== undefined) await stdout.write(toPrintable(formatTree(root, found.calls, "", "")));
  if (found.isCut) await context.stderr.write("The call made more calls, which are not printed.\n");
}

async function readTree(name: string, { call }: Target): Promise<{ calls: Call[]; isCut: boolean }> {
  const isNumber = /^\d{1,15}$/.test(name);
  const { data } = await call("hub.call", isNumber ? { id: Number(name) } : { requestId: name });
  const tree = data as { calls: Call[]; isCut: boolean };
  if (tree.calls.length > 0) return tree;
  throw new CallError("CALL_NOT_FOUND", `There is no call ${name}.`);
}

function formatTree(call: Call, all: readonly Call[], first: string, rest: string): string {
  const [time, ...cells] = toRow(call).map(toPrintableLine);
  const error = call.error === undefined ? "" : `${rest}   ${toPrintableLine(call.error.message)}\n`;
  const below = all.filter(({ parentRequestId }) => parentRequestId === call.requestId);
  const inner = below.map((each, index) => {
    const isLast = index === below.length - 1;
    return formatTree(each, all, `${rest}${isLast ? "└─ " : "├─ "}`, `${rest}${isLast ? "   " : "│  "}`);
  });
  return `${first}${cells.join("  ")}  ${time}\n${error}${inner.join("")}`;
}
