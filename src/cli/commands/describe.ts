import { createExample, printBlock, printSignature } from "../../contract/index.ts";
import { getOwn, isObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { type AccessControl, formatOperationId } from "../../operation/inside.ts";
import { modelOf } from "../../schema/model.ts";
import { defineCommand } from "../command.ts";
import { program } from "../failures.ts";
import { coerce, propertyOf } from "../input.ts";
import { toPrintable, toPrintableLine } from "../output-stream.ts";
import { createDataPrinter, valueOptions } from "../print.ts";
import { type FoundOperation, findOperation, targetOptions, withTarget } from "../target.ts";

/** `operations describe ID` */
export const describe = defineCommand({
  examples: [
    "describe task.create",
    "describe api.getUser --openapi https://api.example.com/openapi.json",
    "describe task.create --json --jq .example",
  ],
  arguments: "ID",
  completes: "operation",
  options: { ...valueOptions, ...targetOptions },
  run: async (context) => {
    const [id = ""] = context.positionals;
    context.operation = id;
    const printer = await createDataPrinter(context);
    await withTarget(context, async (target) => {
      const spec = await findOperation(target, id);
      if (printer === undefined) return context.stdout.write(toPrintable(formatDescription(spec, target.label)));
      const { call, definitions } = printSignature(spec);
      const signature = `${[call, ...definitions].join(";\n")};\n`;
      await printer.print({ id, ...spec, signature, example: createExample(spec.inputSchema), target: target.label });
      await printer.close();
    });
  },
});

/** Formats all that a caller needs to know. Named types are last, because they may be long. */
export function formatDescription(spec: FoundOperation, label: string): string {
  const { call, errors, definitions } = printSignature(spec);
  const id = formatOperationId(spec.namespace, spec.name);
  const sections = [
    `${call}\n`,
    `Example:\n  ${formatCall(id, spec)}\n`,
    errors.length > 0 && printBlock("Errors:", errors),
    `Access: ${formatAccess(spec.accessControl)}\n`,
    `Source: ${formatSource(spec, label)}\n`,
    definitions.length > 0 && `Types:\n\n${definitions.join(";\n")};\n`,
  ];
  return sections.filter((section) => section !== false).join("\n");
}

/** Formats the command that calls an operation with an example, in the shortest form that gives exactly this input. */
export function formatCall(id: string, { type, inputSchema }: FoundOperation): string {
  const input = createExample(inputSchema);
  const pairs = Object.entries(isObject(input) ? input : {}).map(([key, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const isRead =
      !isObject(value) && !Array.isArray(value) && coerce(text, propertyOf([modelOf(inputSchema).root], key)) === value;
    return isRead ? `${key}=${text}` : `${key}:=${JSON.stringify(value)}`;
  });
  // Such names would be read as options, or as another form of `KEY=VALUE`.
  const isPlain = isObject(input) && Object.keys(input).every((key) => /^[^-=][^=]*(?<![:@])$|^[^-=:@]$/.test(key));
  const rest = isPlain ? pairs : ["--input", JSON.stringify(input)];
  const words = [type === "subscription" ? "subscribe" : "call", id, ...rest];
  return `${program} ${words.map(quoteForShell).join(" ")}`;
}

function formatAccess(access: AccessControl): string {
  const { requiredScopes, requiredScopesAny, resourceType, resourceAction, resourceId, customAuth } = access;
  const rules = [
    requiredScopes.length > 0 &&
      `the ${requiredScopes.length === 1 ? "scope" : "scopes"} ${requiredScopes.map((scope) => quote(scope)).join(", ")}`,
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
function formatSource({ _meta, version, source }: FoundOperation, label: string): string {
  const { method, path, server } = (getOwn(_meta, "openapi") ?? {}) as Record<string, unknown>;
  const tool = getOwn(getOwn(_meta, "mcp"), "tool");
  const details = [
    source !== undefined && `the source ${quote(source)}`,
    typeof method === "string" && `${method} ${server ?? ""}${path ?? ""}`,
    typeof tool === "string" && `the MCP tool ${quote(tool)}`,
    `version ${version}`,
  ].filter((detail) => detail !== false);
  return toPrintableLine(`${label}, ${details.join(", ")}`);
}

/** Quotes an argument for POSIX shells. Ordinary words stay as they are. */
export function quoteForShell(argument: string): string {
  return /^[\w./:@%+,=-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
