import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import ts from "typescript";
import { expect, test, vi } from "vitest";
import { parseOpenAPI } from "../from/openapi/index.ts";
import { FromOpenAPI, FromSchema, type OperationSpec, Type } from "../index.ts";
import { compileSchema } from "../schema/index.ts";
import { printTypes } from "./signature.ts";
import { createSpec, Program, type Sample, samples } from "./testing.ts";

// The compiler reads this package, which takes seconds on an idle machine and much longer on a busy one.
vi.setConfig({ testTimeout: 120_000 });

const taskSpecs = [
  createSpec({
    title: "Create a task",
    description: "Creates a task.",
    input: Type.Object({
      title: Type.String(),
      priority: Type.Optional(Type.Integer({ description: "From 1 to 5." })),
    }),
    output: Type.Object({ id: Type.String() }),
    errorSchemas: [{ code: "TITLE_TAKEN", schema: Type.Object({ title: Type.String() }) }],
  }),
  createSpec({
    name: "list/all",
    type: "query",
    input: Type.Object({ limit: Type.Optional(Type.Integer()) }),
    output: Type.Array(Type.String()),
  }),
  createSpec({ name: "changes", type: "subscription", output: Type.Object({ at: Type.Number() }) }),
];

const calls = `
import { OperationRegistry, type OperationContext } from "@alkdev/operations";
import { connect } from "@alkdev/operations/client";
import type { Operations } from "./operations.js";

export async function useClients(registry: OperationRegistry, context: OperationContext): Promise<unknown[]> {
  const local = registry.client<Operations>();
  const remote = connect<Operations>("http://127.0.0.1:4000");
  const registered = connect("http://127.0.0.1:4000");
  const results: unknown[] = [];
  for (const client of [local, remote, registered]) {
    const id: string = (await client.task.create({ title: "a", priority: 1 })).id;
    const titles: string[] = await client.task["list/all"]();
    results.push(id, titles, client.task.create.envelope({ title: "a" }).then(({ data, meta }) => [data.id, meta]));
    try {
      for await (const { at } of client.task.changes()) results.push(at.toFixed());
    } catch (error) {
      if (client.task.create.isError(error, "TITLE_TAKEN")) results.push(error.details.title.length);
      // @ts-expect-error: the error is not declared
      client.task.create.isError(error, "TITLE_LOST");
    }
    // @ts-expect-error: the title is missing
    client.task.create({});
    // @ts-expect-error: the title is a string
    client.task.create({ title: 1 });
    // @ts-expect-error: the property does not exist
    client.task.create({ title: "a", tilte: "b" });
    // @ts-expect-error: the operation does not exist
    client.task.crate;
    // @ts-expect-error: the namespace does not exist
    client.tasks;
    // @ts-expect-error: the result has no title
    (await client.task.create({ title: "a" })).title;
    // @ts-expect-error: a subscription cannot be awaited
    client.task.changes().then;
  }
  const { id } = await context.call("task.create", { title: "a" });
  const titles: string[] = await context.call("task.list/all");
  const { data } = await context.env.task.create({ title: "a" });
  results.push(id.length, titles, data.id.length, await context.call("other.operation", 1));
  // @ts-expect-error: the title is missing
  context.call("task.create", {});
  // @ts-expect-error: the limit is a number
  context.call("task.list/all", { limit: "1" });
  // @ts-expect-error: a subscription cannot be called
  context.call("task.changes", {});
  // @ts-expect-error: a subscription cannot be called
  context.env.task.changes;
  return results;
}
`;

test("the types of tasks, of large documents and of schemas of every form compile; valid values and calls do, invalid calls do not", async () => {
  const documents = [
    "azure-compute-20.yaml",
    "spotify.yaml",
    "twilio-verify.json",
    "google-drive.yaml",
    "mastodon.yaml",
  ];
  const imported = await Promise.all(documents.map((file) => importDocument(file)));
  const pets = await importDocument("oai-petstore-30.json", "pets");
  const random = fc.sample(samples, { numRuns: 200, seed: 7 });
  const randomSpecs = random.map(({ schema }, index) =>
    createSpec({ namespace: "random", name: `s${index}`, output: schema }),
  );
  const values = random.flatMap(printValues);
  using program = new Program({
    "operations.ts": printTypes([...taskSpecs, ...pets, ...imported.flat(), ...randomSpecs]),
    "calls.ts": calls,
    "pets.ts": readFixture("generated-types/pets.ts"),
    "values.ts": `import type { Operations } from "./operations.js";\n${values.join("")}`,
  });

  expect(await program.compile()).toEqual([]);
  expect(printTypes(pets)).toBe(readFixture("generated-types/operations.d.ts"));
  expect(imported.map((specs) => specs.length)).toEqual([116, 88, 57, 50, 127]);
  expect(values.length).toBeGreaterThan(300);
});

async function importDocument(file: string, namespace = file.replace(/[-.].*/, "")): Promise<OperationSpec[]> {
  const document = await parseOpenAPI(readFixture(`openapi/${file}`));
  return FromOpenAPI(document, { namespace, baseUrl: "https://example.com", onReport() {} });
}

function readFixture(file: string): string {
  return readFileSync(new URL(`../../test/fixtures/${file}`, import.meta.url), "utf8");
}

/** Prints the values that the validator accepts as constants of the output type of an operation. */
function printValues({ schema, values }: Sample, index: number): string[] {
  const compiled = compileSchema(FromSchema(schema));
  const valid = values.filter((value) => compiled.check(value));
  return valid.map((value, count) => {
    return `export const s${index}_${count}: Operations["random"]["s${index}"]["output"] = ${JSON.stringify(value)};\n`;
  });
}

const edited = `
import type { OperationContext } from "@alkdev/operations";
import { connect } from "@alkdev/operations/client";
import type { Operations } from "./operations.js";

export function edit(context: OperationContext): void {
  context.call("");
  const client = connect<Operations>("http://127.0.0.1:4000");
  client.task;
  client.task.create({ title: "a", priority: 1 });
  client.task["list/all"]({});
}
`;

test("an editor completes ids, names and inputs, and shows their documentation", () => {
  using program = new Program({ "operations.d.ts": printTypes(taskSpecs), "edited.ts": edited });
  const editor = new Editor(program.folder, "edited.ts");

  expect({
    ids: editor.complete('context.call("'),
    namespaces: editor.complete("client.ta").filter((name) => name.startsWith("t")),
    names: editor.complete('client.task["'),
    inputs: editor.complete('client.task["list/all"]({'),
    operation: editor.show("client.task.crea"),
    input: editor.show('title: "a", prio'),
  }).toEqual({
    ids: ["task.create", "task.list/all"],
    namespaces: ["task"],
    names: ["changes", "create", "list/all"],
    inputs: ["limit"],
    operation: "Create a task\n\nCreates a task.",
    input: "From 1 to 5.",
  });
});

/** The service that editors use, on one file of a program. */
class Editor {
  readonly #file: string;
  readonly #text: string;
  readonly #service: ts.LanguageService;

  constructor(folder: string, file: string) {
    this.#file = join(folder, file);
    this.#text = readFileSync(this.#file, "utf8");
    const config = ts.readConfigFile(join(folder, "tsconfig.json"), ts.sys.readFile);
    const { options, fileNames } = ts.parseJsonConfigFileContent(config.config, ts.sys, folder);
    this.#service = ts.createLanguageService({
      getCompilationSettings: () => options,
      getScriptFileNames: () => fileNames,
      getScriptVersion: () => "1",
      getScriptSnapshot: (path) => ts.ScriptSnapshot.fromString(ts.sys.readFile(path) ?? ""),
      getCurrentDirectory: () => folder,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      fileExists: ts.sys.fileExists,
      readFile: ts.sys.readFile,
      readDirectory: ts.sys.readDirectory,
    });
  }

  /** Returns the names that are suggested after a piece of the file, sorted. */
  complete(piece: string): string[] {
    const completions = this.#service.getCompletionsAtPosition(this.#file, this.#after(piece), undefined);
    const names = (completions?.entries ?? []).map(({ name }) => name.replaceAll('"', ""));
    return names.filter((name) => name !== "").sort();
  }

  /** Returns the documentation of the name at the end of a piece of the file. */
  show(piece: string): string {
    const info = this.#service.getQuickInfoAtPosition(this.#file, this.#after(piece));
    return ts.displayPartsToString(info?.documentation);
  }

  #after(piece: string): number {
    return this.#text.indexOf(piece) + piece.length;
  }
}
