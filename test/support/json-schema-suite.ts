/** Runs the JSON Schema Test Suite through FromSchema and a compiled check, and prints passed/total per draft. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Meta } from "typebox/schema";
import { compileSchema, type Dialect, FromSchema } from "../../src/schema/index.ts";

const suite = fileURLToPath(new URL("../fixtures/json-schema-test-suite/", import.meta.url));

export const drafts = { draft7: "draft-07", "draft2020-12": "2020-12" } as const satisfies Record<string, Dialect>;

interface Group {
  description: string;
  schema: unknown;
  tests: Array<{ description: string; data: unknown; valid: boolean }>;
}

export interface SuiteResult {
  passed: number;
  total: number;
  /** `file: group: test` of every case with an unexpected result. */
  failed: string[];
}

/** Runs the required tests of one draft. */
export function runSuite(draft: keyof typeof drafts): SuiteResult {
  const remotes = readRemotes();
  const result: SuiteResult = { passed: 0, total: 0, failed: [] };
  const folder = join(suite, "tests", draft);
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    for (const group of JSON.parse(readFileSync(join(folder, file), "utf8")) as Group[]) {
      const check = toCheck(group.schema, { dialect: drafts[draft], remotes });
      for (const { data, description, valid } of group.tests) {
        result.total += 1;
        const answer = check(data);
        if (answer === valid) result.passed += 1;
        else
          result.failed.push(
            `${file}: ${group.description}: ${description}${answer === undefined ? " (refused)" : ""}`,
          );
      }
    }
  }
  return result;
}

function toCheck(schema: unknown, options: Parameters<typeof FromSchema>[1]): (value: unknown) => boolean | undefined {
  try {
    const compiled = compileSchema(FromSchema(schema, options));
    return (value) => compiled.check(value);
  } catch {
    return () => undefined;
  }
}

function readRemotes(): Record<string, unknown> {
  const remotes: Record<string, unknown> = {};
  for (const [uri, schema] of Object.entries(Meta)) remotes[uri.replace(/#$/, "")] = schema;
  const root = join(suite, "remotes");
  for (const entry of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    if (!entry.endsWith(".json")) continue;
    remotes[`http://localhost:1234/${entry.replaceAll("\\", "/")}`] = JSON.parse(
      readFileSync(join(root, entry), "utf8"),
    );
  }
  return remotes;
}
