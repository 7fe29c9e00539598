import { type Argument, assignArguments } from "./arguments.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { Entry, Warn } from "./entry.ts";
import type { MethodEntry } from "./method-entries.ts";
import { chooseOutput, type OutputChoice } from "./output-schema.ts";
import { readEntry } from "./read-entry.ts";
import { readSwagger2Entry } from "./swagger2.ts";

/** Everything that the document says about one method. Cheap to read again, so it need not be kept. */
export interface EntryDetails {
  entry: Entry;
  given: Argument[];
  output: OutputChoice;
}

/** Reads a method of any version of OpenAPI. @throws ReferenceProblem */
export function readDetails(document: OpenAPIDocument, found: MethodEntry, warn: Warn): EntryDetails {
  const read = document.version === "2.0" ? readSwagger2Entry : readEntry;
  const entry = withoutUnsendableBody(read(document, found, warn), warn);
  return { entry, given: assignArguments(entry, warn), output: chooseOutput(entry.responses) };
}

function withoutUnsendableBody(entry: Entry, warn: Warn): Entry {
  if (entry.body === undefined || (entry.method !== "GET" && entry.method !== "HEAD")) return entry;
  warn(entry.body.pointer, `fetch sends no body with ${entry.method}; the body is left out`);
  return { ...entry, body: undefined };
}
