import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isCallError } from "../../index.ts";
import { OutputStream } from "../output-stream.ts";
import { types } from "./types.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "operations-types-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Run {
  stdout: string;
  stderr: string;
  /** Code and message of the failure. */
  failure?: string;
}

async function run(options: Record<string, string | boolean>): Promise<Run> {
  const result: Run = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => {
    const write = (text: string, done: () => void) => {
      result[name] += text;
      done();
    };
    return new OutputStream({ isTTY: false, write } as never, {}, false);
  };
  const context = {
    positionals: [],
    options: { openapi: join(folder, "api.json"), ...options },
    given: [["openapi", join(folder, "api.json")]],
    environment: {},
    folder,
  };
  const controller = new AbortController();
  const streams = {
    stdout: stream("stdout"),
    stderr: stream("stderr"),
    signal: controller.signal,
    operation: undefined,
  };
  try {
    await types.run({ ...context, ...streams } as never);
  } catch (error) {
    if (!isCallError(error)) throw error;
    result.failure = `${error.code}: ${error.message.replaceAll(folder, "FOLDER")}`;
  }
  return result;
}

function writeDocument(required: string[], summary: string, names = ["id", "name"]): void {
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const schema = { type: "object", properties, required };
  const responses = { 200: { description: "", content: { "application/json": { schema } } } };
  const paths = { "/pet": { get: { operationId: "getPet", summary, responses } } };
  const document = {
    openapi: "3.1.0",
    info: { title: "Pets", version: "1" },
    servers: [{ url: "http://127.0.0.1" }],
    paths,
  };
  writeFileSync(join(folder, "api.json"), JSON.stringify(document));
}

test("types are written with a lock, against which later contracts are checked", async () => {
  writeDocument(["id", "name"], "Returns a pet");
  expect(await run({ check: true })).toEqual({
    stdout: "",
    stderr: "",
    failure:
      'USAGE: "FOLDER/operations.lock.json" does not exist. Run "npx @alkdev/operations types --lock" once and keep the file.',
  });

  const written = { stdout: "", stderr: "Wrote operations.d.ts and operations.lock.json with 1 operation.\n" };
  expect(await run({ lock: true })).toEqual(written);
  expect(readdirSync(folder).sort()).toEqual(["api.json", "operations.d.ts", "operations.lock.json"]);
  expect(await run({ check: true })).toEqual({ stdout: "", stderr: "" });
  expect(await run({ output: "-" })).toEqual({
    stdout: readFileSync(join(folder, "operations.d.ts"), "utf8"),
    stderr: "",
  });

  writeDocument(["id"], "Returns one pet");
  const breaking = { operation: "api.getPet", message: 'The output at "/name" is now optional.' };
  const failure =
    'CONTRACTS_CHANGED: The contracts differ from operations.lock.json: 1 breaking change and 0 harmless changes. Run "npx @alkdev/operations types" to accept them.';
  expect(await run({ check: true })).toEqual({
    stdout: `Breaking changes:\n  ${breaking.operation}: ${breaking.message}\n`,
    stderr: "",
    failure,
  });
  expect(await run({ check: true, json: true })).toEqual({
    stdout: `${JSON.stringify({ breaking: [breaking], harmless: [] })}\n`,
    stderr: "",
    failure,
  });
  expect(await run({})).toEqual({
    stdout: "",
    stderr: `${written.stderr}\nBreaking changes:\n  ${breaking.operation}: ${breaking.message}\n`,
  });

  writeDocument(["id"], "Returns the pet");
  expect(await run({ check: true })).toEqual({
    stdout: "Harmless changes:\n  api.getPet: The documentation changed.\n",
    stderr: "",
    failure:
      'CONTRACTS_CHANGED: The contracts differ from operations.lock.json: 0 breaking changes and 1 harmless change. Run "npx @alkdev/operations types" to accept them.',
  });
});

test("another order of properties is not a change", async () => {
  writeDocument(["id"], "Returns a pet");
  await run({});
  writeDocument(["id"], "Returns a pet", ["name", "id"]);
  expect(await run({ check: true })).toEqual({ stdout: "", stderr: "" });
});

test("types that were changed by hand, and files that are not lock files, are reported", async () => {
  writeDocument([], "");
  await run({});
  writeFileSync(join(folder, "operations.d.ts"), "changed");
  expect(await run({ check: true })).toEqual({
    stdout: "",
    stderr: "",
    failure:
      'TYPES_OUTDATED: "FOLDER/operations.d.ts" is not up to date. Run "npx @alkdev/operations types" to write it again.',
  });

  writeFileSync(join(folder, "operations.lock.json"), '{ "lockVersion": 9 }');
  expect(await run({})).toEqual({
    stdout: "",
    stderr: "",
    failure:
      'USAGE: "FOLDER/operations.lock.json" cannot be read: it is not a lock file of version 1. Remove it and run "npx @alkdev/operations types" again.',
  });
  expect(await run({ output: "missing/types.d.ts" })).toMatchObject({
    failure: expect.stringMatching(/^USAGE: The file "FOLDER\/missing\/types.d.ts" cannot be written: ENOENT/),
  });
  expect(await run({ check: true, output: "-" })).toMatchObject({
    failure: 'USAGE: The option --check needs a file, not "-".',
  });
});

test("a source without operations is reported", async () => {
  writeFileSync(
    join(folder, "api.json"),
    JSON.stringify({ openapi: "3.1.0", info: { title: "", version: "" }, paths: {} }),
  );

  expect(await run({})).toMatchObject({
    failure: 'USAGE: "FOLDER/api.json" has no operations, so there are no types to write.',
  });
});
