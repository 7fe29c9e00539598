import { configure, type LogRecord } from "@logtape/logtape";
import type { TSchema } from "typebox";
import { FromOpenAPI, type ImportedOperation, type OpenAPISpec, parseOpenAPI } from "../../src/from/openapi/index.ts";
import type { SourceReport } from "../../src/index.ts";
import { isCallError } from "../../src/operation/index.ts";
import { compileSchema } from "../../src/schema/index.ts";
import { checkTools } from "./check-tools.ts";
import { sample } from "./sample.ts";
import { ValidatingMock } from "./validating-mock.ts";

/** What became of one document. */
export interface DocumentCheck {
  /** Methods of paths, counted independently of the import. */
  entries: number;
  operations: number;
  skipped: number;
  warnings: number;
  schemas: number;
  /** Operations that were called with a made-up input; the rest need one that is harder to make up. */
  called: number;
  /** Everything that should not be: entries that are neither imported nor reported, schemas that do not compile, also as tools. */
  problems: string[];
}

/** Imports a document and holds every promise of an import against it. */
export async function checkDocument(text: string): Promise<DocumentCheck> {
  const spec = await parseOpenAPI(text);
  const mock = new ValidatingMock(spec);
  let report: SourceReport = { imported: [], skipped: [], warnings: [] };
  const operations = FromOpenAPI(spec, {
    namespace: "corpus",
    fetch: mock.fetch,
    baseUrl: "http://127.0.0.1/",
    onReport: (received) => {
      report = received;
    },
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
  let called = 0;
  for (const operation of operations) called += (await callOnce(operation, mock)) ? 1 : 0;
  problems.push(...mock.problems, ...(await checkTools(operations)));
  return {
    entries: entries.length,
    operations: operations.length,
    skipped: report.skipped.length,
    warnings: report.warnings.length,
    schemas,
    called,
    problems,
  };
}

/** A schema that cannot be converted when it is read is replaced by one that accepts any value; only the log reports it. */
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

/** Calls an operation with a made-up input; `false` when none was found that its own schema accepts. */
async function callOnce(operation: ImportedOperation, mock: ValidatingMock): Promise<boolean> {
  const input = trySample(operation.inputSchema);
  if (!compileSchema(operation.inputSchema).check(input)) return false;
  mock.pointer = pointerOf(operation);
  const { signal } = new AbortController();
  try {
    const result = await operation.handler(input, {
      requestId: "1",
      signal,
      metadata: {},
      env: {},
      call: () => Promise.reject(new Error("not called")),
      errors: {},
      progress: () => {},
    });
    if (operation.type === "subscription") for await (const _ of result as AsyncIterable<unknown>) break;
  } catch (error) {
    // Made up as it is, the value may have no form on the wire, such as an empty object in a path.
    if (isCallError(error) && error.code === "VALIDATION_ERROR") return false;
    // The mock responds to every call with JSON, which is not a stream.
    if (operation.type !== "subscription") mock.problems.push(`${mock.pointer}: ${String(error)}`);
  }
  return true;
}

/** Not every pattern can be turned around. */
function trySample(schema: TSchema): unknown {
  try {
    return sample(JSON.parse(JSON.stringify(schema)));
  } catch {
    return undefined;
  }
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
