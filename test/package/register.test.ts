import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, inject, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";

/** A program of its own for each test, because declaring `Register` affects every file of a program. */
function createFolder(): string {
  const folder = mkdtempSync(join(inject("consumer"), "register-"));
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: "ES2022",
    lib: ["ES2023", "ESNext.Disposable", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    module: "NodeNext",
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["."] }));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  return folder;
}

/** Compiles the program of a folder with the packed types, and returns what the compiler prints. */
function compile(folder: string): Promise<string> {
  return new Promise((done) => {
    const args = ["-p", folder, "--extendedDiagnostics", "--singleThreaded", "--pretty", "false"];
    execFile(resolve(root, "node_modules/.bin/tsc"), args, { cwd: folder }, (_error, stdout) => done(stdout));
  });
}

const errorsIn = (output: string) => output.split("\n").filter((line) => /\(\d+,\d+\): error /.test(line));

test("a declared registry types context.env, also for operations that call each other, and errors are readable", async () => {
  const folder = createFolder();
  const fixture = resolve(root, "test/fixtures/register");
  for (const name of ["hovers", "operations", "registry"])
    cpSync(join(fixture, `${name}.ts`), join(folder, `${name}.ts`));

  expect(errorsIn(await compile(folder))).toEqual([
    "hovers.ts(4,14): error TS2322: Type 'Promise<ResponseEnvelope<boolean>>' is not assignable to type 'never'.",
    "hovers.ts(5,14): error TS2322: Type 'Promise<{ text: string; }>' is not assignable to type 'never'.",
    "hovers.ts(6,14): error TS2322: Type 'AsyncIterableIterator<number>' is not assignable to type 'never'.",
    `hovers.ts(7,18): error TS2345: Argument of type '"number.isEvn"' is not assignable to parameter of type '"number.isEven" | "number.isOdd" | "text.echo"'.`,
    "hovers.ts(8,33): error TS2561: Object literal may only specify known properties, but 'texts' does not exist in type '{ text: string; }'. Did you mean to write 'text'?",
  ]);
});

test("300 operations with defaults and errors, and 900 calls of them, cost the compiler at most 2.8 million instantiations", async () => {
  const folder = createFolder();
  const baseline = await countInstantiations(folder, createProgram(1));

  expect((await countInstantiations(folder, createProgram(300))) - baseline).toBeLessThan(2_800_000);
});

async function countInstantiations(folder: string, program: string): Promise<number> {
  const imports = 'import { createRegistry, defineOperation, Type } from "@alkdev/operations";';
  writeFileSync(join(folder, "main.ts"), `${imports}\n${program}\nexport { createRegistry, defineOperation, Type };`);
  const output = await compile(folder);
  expect(errorsIn(output)).toEqual([]);
  return Number(/Instantiations:\s+(\d+)/.exec(output)?.[1]);
}

/** Returns a program with `count` operations, each of which is called three times. */
function createProgram(count: number): string {
  const indexes = Array.from({ length: count }, (_, index) => index);
  return [
    `const common = { version: "1.0.0", type: "query", description: "", accessControl: { requiredScopes: [] as string[] } } as const;`,
    ...indexes.map(
      (index) => `const operation${index} = defineOperation({ ...common, namespace: "n${index % 30}", name: "o${index}",
        inputSchema: Type.Object({ title: Type.String(), rank: Type.Integer({ default: 3 }), p${index}: Type.Optional(Type.Array(Type.Object({ a: Type.String() }))) }),
        outputSchema: Type.Object({ id: Type.String(), r${index}: Type.Number() }),
        errors: { E${index}: Type.Object({ title: Type.String() }) },
        handler: ({ title }, { errors }) => {
          if (title === "") throw errors.E${index}({ title });
          return { id: title, r${index}: ${index} };
        } });`,
    ),
    `const registry = createRegistry({ operations: [${indexes.map((index) => `operation${index}`)}] });`,
    "const client = registry.client();",
    ...indexes.map(
      (
        index,
      ) => `export const e${index} = (await registry.execute("n${index % 30}.o${index}", { title: "" })).data.r${index};
        export const c${index} = (await client.n${index % 30}.o${index}({ title: "" })).r${index};
        export const v${index} = (await client.n${index % 30}.o${index}.envelope({ title: "" })).data.r${index};`,
    ),
  ].join("\n");
}
