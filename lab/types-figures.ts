/**
 * `npm run lab -- types-figures`: prints the types of GitHub's API with our printer and with openapi-typescript, and compares
 * their size and the CPU time that the compiler needs to check each with a program that makes one call. Needs the built
 * package, and the network once. `npm run lab -- types-figures <folder>` compiles the types of every OpenAPI document of a
 * folder instead.
 */
import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { FromOpenAPI, type OperationSpec } from "@alkdev/operations";
import { parseOpenAPI } from "@alkdev/operations/from-openapi";
import { root } from "../scripts/subpaths.ts";
import { printLock, printTypes } from "../src/contract/index.ts";
import { Program } from "../src/contract/testing.ts";
import { binOf, installPackage } from "./mcp/install.ts";

const execute = promisify(execFile);
const require = createRequire(import.meta.url);

/** Number of times that each program is compiled. The least CPU time counts. */
const rounds = 7;
/** Maximum CPU time of our types, relative to theirs. */
const maxTimeRatio = 1.2;

const theirProgram = `import createClient from "openapi-fetch";
import type { paths } from "./types.js";
const client = createClient<paths>({ baseUrl: "https://api.github.com" });
const params = { path: { owner: "a", repo: "b" } };
const { data } = await client.POST("/repos/{owner}/{repo}/issues", { params, body: { title: "x" } });
export const title: string | undefined = data?.title;
`;

const ourProgram = `import { connect } from "@alkdev/operations/client";
import type { Operations } from "./types.js";
const client = connect<Operations>("http://127.0.0.1:4000");
const issue = await client.github["issues/create"]({ owner: "a", repo: "b", body: { title: "x" } });
export const title: string = issue.title;
`;

process.exitCode = process.argv[2] === undefined ? await compareWithOthers() : await compileFolder(process.argv[2]);

async function compareWithOthers(): Promise<number> {
  if (!existsSync(join(root, "dist/index.d.ts"))) {
    console.error("The package is not built. Run `npm run build` first.");
    return 2;
  }
  const document = require.resolve("@octokit/openapi/generated/api.github.com.json");
  const home = await installPackage(
    "types-figures",
    "openapi-typescript@7.13.0",
    "typescript@5.9.3",
    "openapi-fetch@0.17.0",
  );
  const folder = mkdtempSync(join(tmpdir(), "types-figures-"));
  try {
    const specs = await importDocument(document, "github");
    const started = process.cpuUsage().user;
    const printed = printTypes(specs);
    const printMs = (process.cpuUsage().user - started) / 1_000;
    const ours = createProgram(join(folder, "ours"), ourProgram, "@alkdev/operations", root);
    writeFileSync(join(ours, "types.ts"), printed);
    const theirs = createProgram(
      join(folder, "theirs"),
      theirProgram,
      "openapi-fetch",
      join(home, "node_modules/openapi-fetch"),
    );
    await execute(binOf(home, "openapi-typescript"), [document, "-o", join(theirs, "types.ts")]);
    const sizes = [ours, theirs].map((program) => readFileSync(join(program, "types.ts")).length) as [number, number];
    const times: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let round = 0; round < rounds; round++) {
      times[0] = Math.min(times[0], await compile(ours));
      times[1] = Math.min(times[1], await compile(theirs));
    }
    const ratio = times[0] / times[1];
    console.log(`${specs.length} operations, printed in ${Math.round(printMs)} ms of CPU time`);
    console.log(`lock file      ${printLock(specs).length} bytes`);
    console.log(
      `size           ours ${sizes[0]}, openapi-typescript ${sizes[1]} bytes: ${(sizes[0] / sizes[1]).toFixed(2)} ×`,
    );
    console.log(
      `type check     ours ${times[0].toFixed(2)}, openapi-typescript ${times[1].toFixed(2)} s of CPU time: ${ratio.toFixed(2)} ×`,
    );
    return sizes[0] <= sizes[1] && ratio <= maxTimeRatio ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Creates a folder with a program that imports one package. */
function createProgram(folder: string, program: string, name: string, location: string): string {
  mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
  symlinkSync(location, join(folder, "node_modules", name));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "program.ts"), program);
  const compilerOptions = {
    ...{
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      types: [],
      target: "es2022",
      lib: ["es2023", "dom", "dom.iterable"],
    },
    ...{ module: "nodenext", moduleResolution: "nodenext" },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["."] }));
  return folder;
}

/** Compiles a program. Returns the CPU time in seconds. */
async function compile(folder: string): Promise<number> {
  const compiler = join(dirname(require.resolve("@typescript/native/package.json")), "bin/tsc");
  // The second line of `times` is the CPU time of the children of the shell, in user and in system mode.
  const script = '"$@" && times';
  const args = ["-c", script, "sh", process.execPath, compiler, "-p", folder, "--singleThreaded"];
  const { stdout } = await execute("sh", args).catch((error: { stdout?: string }) => {
    throw new Error(`The program in ${folder} does not compile.\n${error.stdout}`);
  });
  const [, children = ""] = stdout.trim().split("\n");
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}

async function importDocument(file: string, namespace: string): Promise<OperationSpec[]> {
  const document = await parseOpenAPI(readFileSync(file, "utf8"));
  return FromOpenAPI(document, { namespace, baseUrl: "https://example.com", onReport() {} });
}

async function compileFolder(folder: string): Promise<number> {
  const files = readdirSync(folder).filter((file) => /\.(json|ya?ml)$/.test(file));
  const specs: OperationSpec[] = [];
  for (const file of files) {
    const operations = await importDocument(join(folder, file), file.replaceAll(".", "_"));
    console.log(`${file}: ${operations.length} operations, ${printTypes(operations).length} characters`);
    specs.push(...operations);
  }
  using program = new Program({ "operations.ts": printTypes(specs) });
  const errors = await program.compile();
  console.log(errors.length === 0 ? `The types of ${files.length} documents compile.` : errors.join("\n"));
  return errors.length === 0 && files.length > 0 ? 0 : 1;
}
