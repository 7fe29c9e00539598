import { configure, type LogRecord, reset } from "@logtape/logtape";
import { afterEach, expect, test } from "vitest";
import { FromOpenAPI } from "./from-openapi.ts";
import { openAPI } from "./testing.ts";

afterEach(() => reset());

const spec = openAPI({
  paths: {
    "/a": { get: { operationId: "a", security: [{ unknown: [] }] } },
    "/b": { get: { operationId: "b" } },
    "/c": { post: 1 },
  },
});

async function logged(config: Partial<Parameters<typeof FromOpenAPI>[1]>) {
  const records: LogRecord[] = [];
  await configure({
    sinks: { memory: (record) => records.push(record) },
    loggers: [
      { category: ["alkdev", "operations"], sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["memory"] },
    ],
  });
  FromOpenAPI(spec, { namespace: "test", ...config });
  return records.map(({ category, level, message }) => `${level} ${category.join(".")}: ${message.join("")}`);
}

test("without a listener, what was skipped or repaired is logged, but not what the operator excluded", async () => {
  const lines = await logged({ exclude: ["b"] });

  expect(lines).toEqual([
    "warning alkdev.operations.from.openapi: test: #/paths/~1c/post was skipped. The operation is not an object.",
    'warning alkdev.operations.from.openapi: test: #/paths/~1a/get/security: The security scheme "unknown" is not declared. The alternative is ignored.',
  ]);
});

test("a listener replaces the log", async () => {
  expect(await logged({ onReport: () => {} })).toEqual([]);
});
