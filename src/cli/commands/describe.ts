import { getOwn } from "../../internal/objects.ts";
import { quote, truncate } from "../../internal/text.ts";
import { type AccessControl, formatOperationId, type OperationSpec } from "../../operation/index.ts";
import { defineCommand } from "../command.ts";
import { toPrintable, toPrintableLine } from "../output-stream.ts";
import { createPrinter, valueOptions } from "../print.ts";
import { findOperation, targetOptions, timeoutOf, withTarget } from "../target.ts";
import { createExample } from "../types/example.ts";
import { printSignature } from "../types/print-types.ts";

/** Maximum length of the description of an error, in characters. */
const maxDescriptionLength = 200;

/** `operations describe ID` */
export const describe = defineCommand({
  examples: [
    "describe task.create",
    "describe api.getUser --openapi https://api.example.com/openapi.json",
    "describe task.create --json --jq .example",
  ],
  arguments: "ID",
  minArguments: 1,
  maxArguments: 1,
  completes: "operation",
  options: { ...targetOptions, jq: valueOptions.jq, raw: valueOptions.raw, output: valueOptions.output },
  run: (context) =>
    withTarget(context, async (target) => {
      const { options, positionals, stdout } = context;
      const [id = ""] = positionals;
      context.operation = id;
      const spec = await findOperation(target, id, { signal: context.signal, timeout: timeoutOf(context) });
      if (options.json !== true && options.jq === undefined && options.output === undefined) {
        return stdout.write(toPrintable(formatDescription(spec, target.label)));
      }
      const { call, definitions } = printSignature(spec);
      const printer = await createPrinter(context, "document");
      const signature = `${call};\n${definitions}`;
      await printer.print({ id, ...spec, signature, example: createExample(spec.inputSchema), source: target.label });
      await printer.close();
    }),
});

/** Formats all that a caller needs to know. Named types are last, because they may be long. */
export function formatDescription(spec: OperationSpec, label: string): string {
  const { call, errors, definitions } = printSignature(spec);
  const id = formatOperationId(spec.namespace, spec.name);
  const command = spec.type === "subscription" ? "subscribe" : "call";
  const input = JSON.stringify(createExample(spec.inputSchema));
  const sections = [
    `${call}\n`,
    `Example:\n  operations ${command} ${quoteForShell(id)} --input ${quoteForShell(input)}\n`,
    errors.length > 0 && `Errors:\n${errors.map(formatError).join("")}`,
    `Access: ${formatAccess(spec.accessControl)}\n`,
    `Source: ${formatSource(spec, label)}\n`,
    definitions !== "" && `Types:\n\n${definitions}`,
  ];
  return sections.filter((section) => section !== false).join("\n");
}

function formatError({ code, details, description }: ReturnType<typeof printSignature>["errors"][0]): string {
  const condition =
    description === undefined ? "" : `  ${truncate(toPrintableLine(description), maxDescriptionLength)}`;
  return `  ${toPrintableLine(code)}${condition}\n    details: ${details.replaceAll("\n", "\n    ")}\n`;
}

function formatAccess(access: AccessControl): string {
  const { requiredScopes, requiredScopesAny, resourceType, resourceAction, resourceId, customAuth } = access;
  const rules = [
    requiredScopes.length > 0 && `the scopes ${requiredScopes.map((scope) => quote(scope)).join(", ")}`,
    requiredScopesAny !== undefined &&
      (requiredScopesAny.length > 0
        ? `one of the scopes ${requiredScopesAny.map((scope) => quote(scope)).join(", ")}`
        : "a scope that no caller has"),
    resourceType !== undefined &&
      `the action ${quote(String(resourceAction))} on ${quote(resourceType)}${resourceId === undefined ? "" : ` at ${quote(resourceId)} of the input`}`,
    customAuth !== undefined && `the check ${quote(customAuth)}`,
  ].filter((rule) => rule !== false);
  return rules.length === 0 ? "every caller" : `requires ${rules.join(" and ")}`;
}

/** Formats where an operation comes from, as far as its source knows. */
function formatSource({ _meta, version }: OperationSpec, label: string): string {
  const { method, path, server } = (getOwn(_meta, "openapi") ?? {}) as Record<string, unknown>;
  const tool = getOwn(getOwn(_meta, "mcp"), "tool");
  const details = [
    typeof method === "string" && `${method} ${server ?? ""}${path ?? ""}`,
    typeof tool === "string" && `the MCP tool ${quote(tool)}`,
    `version ${version}`,
  ].filter((detail) => detail !== false);
  return toPrintableLine(`${label}, ${details.join(", ")}`);
}

/** Quotes an argument for POSIX shells. Ordinary words stay as they are. */
function quoteForShell(argument: string): string {
  return /^[\w./:@%+,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
