import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const compiler = join(dirname(createRequire(import.meta.url).resolve("@typescript/native/package.json")), "bin", "tsc");

/** Compiles a separate program, because declaring `Register` affects every file of a program. */
function compile(project: string): Promise<string> {
  return new Promise((resolve) => {
    const args = [compiler, "-p", project, "--extendedDiagnostics", "--singleThreaded", "--pretty", "false"];
    execFile(process.execPath, args, { cwd: root }, (_error, stdout) => resolve(stdout));
  });
}

// Both tests run the compiler on the sources, which takes seconds on an idle machine and much longer on a busy one.
vi.setConfig({ testTimeout: 120_000 });

function errorsIn(output: string, path: string): string[] {
  return output.split("\n").flatMap((line) => (line.startsWith(path) ? [line.slice(path.length)] : []));
}

test("a declared registry types context.env, also for operations that call each other, and errors are readable", async () => {
  const output = await compile("test/fixtures/register");

  expect(errorsIn(output, "test/fixtures/register/")).toEqual([
    "hovers.ts(4,14): error TS2322: Type 'Promise<ResponseEnvelope<boolean>>' is not assignable to type 'never'.",
    "hovers.ts(5,14): error TS2322: Type 'Promise<{ text: string; }>' is not assignable to type 'never'.",
    "hovers.ts(6,14): error TS2322: Type 'AsyncIterableIterator<number>' is not assignable to type 'never'.",
    `hovers.ts(7,18): error TS2345: Argument of type '"number.isEvn"' is not assignable to parameter of type '"number.isEven" | "number.isOdd" | "text.echo"'.`,
    "hovers.ts(8,33): error TS2561: Object literal may only specify known properties, but 'texts' does not exist in type '{ text: string; }'. Did you mean to write 'text'?",
  ]);
  expect(errorsIn(output, "src/operation/")).toEqual([]);
  expect(errorsIn(output, "src/registry/")).toEqual([]);
});

test("300 operations with defaults and errors, and 900 calls of them, cost the compiler at most 2.8 million instantiations", async () => {
  expect(await instantiations(300)).toBeLessThan(2_800_000);
});

/** Returns how many more instantiations `count` operations, each called three times, need than a single operation. */
async function instantiations(count: number): Promise<number> {
  const cache = join(root, "node_modules", ".cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "operations-types-"));
  try {
    const config = { extends: join(root, "tsconfig.json"), include: ["."], exclude: [] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const baseline = await measure(folder, createProgram(1));
    return (await measure(folder, createProgram(count))) - baseline;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measure(folder: string, program: string): Promise<number> {
  await writeFile(
    join(folder, "main.ts"),
    `import { createRegistry, defineOperation, Type } from "@alkdev/operations";\n${program}\nexport { createRegistry, defineOperation, Type };`,
  );
  const output = await compile(folder);
  expect(output.split("\n").filter((line) => line.includes("main.ts("))).toEqual([]);
  return Number(/Instantiations:\s+(\d+)/.exec(output)?.[1]);
}

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
