import { configure, type LogRecord } from "@logtape/logtape";
import type { TSchema } from "typebox";
import { type ImportedOperation, importOpenAPI, type OpenAPISpec, parseOpenAPI } from "../../src/from/openapi/index.ts";
import { compileSchema } from "../../src/schema/index.ts";

/** What became of one document. */
export interface DocumentCheck {
  /** Methods of paths, counted independently of the import. */
  entries: number;
  operations: number;
  skipped: number;
  warnings: number;
  schemas: number;
  /** Everything that should not be: entries that are neither imported nor reported, schemas that do not compile. */
  problems: string[];
}

/** Imports a document and holds every promise of an import against it. */
export async function checkDocument(text: string): Promise<DocumentCheck> {
  const spec = await parseOpenAPI(text);
  const { operations, report } = importOpenAPI(spec, {
    namespace: "corpus",
    baseUrl: "http://127.0.0.1/",
    onReport: () => {},
  });
  const problems: string[] = [];
  await listenToLog(problems);
  const entries = listEntries(spec);
  const imported = new Set(operations.map(pointerOf));
  const skipped = new Set(report.skipped.map(({ where }) => where));
  for (const entry of entries) {
    const isTold = [...skipped].some((where) => entry === where || entry.startsWith(`${where}/`));
    if (!imported.has(entry) && !isTold) problems.push(`${entry} is neither imported nor reported`);
  }
  if (new Set(report.imported).size !== operations.length) problems.push("names are not unique");
  let schemas = 0;
  for (const operation of operations) {
    for (const [part, schema] of schemasOf(operation)) {
      schemas += 1;
      const problem = tryCompile(schema);
      if (problem !== undefined) problems.push(`${operation.name} ${part}: ${problem}`);
    }
  }
  return {
    entries: entries.length,
    operations: operations.length,
    skipped: report.skipped.length,
    warnings: report.warnings.length,
    schemas,
    problems,
  };
}

/** A schema that cannot be converted when it is read is replaced by one that says nothing; only the log tells. */
async function listenToLog(problems: string[]): Promise<void> {
  const list = ({ message }: LogRecord) => problems.push(message.map(String).join(""));
  await configure({
    reset: true,
    sinks: { list },
    loggers: [
      { category: ["alkdev", "operations", "openapi"], sinks: ["list"], lowestLevel: "warning" },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

function listEntries(spec: OpenAPISpec): string[] {
  const entries: string[] = [];
  for (const [path, item] of Object.entries(spec.paths ?? {})) {
    const pointer = `#/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    for (const key of Object.keys(item as object)) {
      if (methods.includes(key.toLowerCase())) entries.push(`${pointer}/${key}`);
    }
    const additional = (item as { additionalOperations?: object }).additionalOperations ?? {};
    for (const method of Object.keys(additional)) entries.push(`${pointer}/additionalOperations/${method}`);
  }
  return entries;
}

function pointerOf(operation: ImportedOperation): string {
  return (operation._meta as { openapi: { pointer: string } }).openapi.pointer;
}

function schemasOf(operation: ImportedOperation): Array<[part: string, schema: TSchema]> {
  const errors = (operation.errorSchemas ?? []).map(({ code, schema }): [string, TSchema] => [code, schema]);
  return [["input", operation.inputSchema], ["output", operation.outputSchema], ...errors];
}

function tryCompile(schema: TSchema): string | undefined {
  if (JSON.stringify(schema) === '{"not":{}}') return "the schema could not be converted";
  try {
    compileSchema(schema).check({});
    return undefined;
  } catch (error) {
    return String(error);
  }
}
