import { configure, type LogRecord, reset } from "@logtape/logtape";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SourceReport } from "../source.ts";
import { type ScannerFS, type ScanOptions, scanOperations } from "./index.ts";

/** Directories are objects, files what their module exports or a function that loads it. */
interface Tree {
  [name: string]: Tree | (() => unknown);
}

const spec = (name: string, overrides: object = {}) => ({
  namespace: "test",
  name,
  version: "1.0.0",
  type: "query",
  description: "A test",
  inputSchema: {},
  outputSchema: {},
  accessControl: { requiredScopes: [] },
  ...overrides,
});

const file = (exported: unknown) => () => ({ default: exported });

/** A file system in memory below `/srv`; `urls` is what was loaded, in order. */
function memory(tree: Tree, root = "/srv/ops") {
  const urls: string[] = [];
  const find = (path: string): Tree[string] | undefined => {
    let current: Tree[string] | undefined = tree;
    for (const name of path.slice(root.length).split("/").filter(Boolean)) current = (current as Tree)[name];
    return current;
  };
  const fs: ScannerFS = {
    async *readdir(path) {
      const directory = find(path.startsWith("/") ? path : `/srv/${path}`);
      if (typeof directory !== "object") throw new Error("permission denied");
      for (const [name, entry] of Object.entries(directory)) {
        yield { name, isFile: typeof entry === "function", isDirectory: typeof entry === "object" };
      }
    },
    cwd: () => "/srv",
    async import(url) {
      urls.push(url);
      return (find(decodeURIComponent(new URL(url).pathname)) as () => unknown)();
    },
  };
  return { fs, urls };
}

async function scan(tree: Tree, options: ScanOptions = {}) {
  const { fs, urls } = memory(tree);
  const reports: SourceReport[] = [];
  const operations = await scanOperations("ops", fs, { onReport: (report) => reports.push(report), ...options });
  return { operations, urls, ...reports[0]! };
}

afterEach(() => reset());

describe("which modules", () => {
  test("loads .ts, .mts, .js and .mjs in the order of their paths, in whatever order the file system lists them", async () => {
    const { urls } = await scan({
      "b.mjs": file(spec("b")),
      Z: { "a.ts": file(spec("z")) },
      "a.ts": file(spec("a")),
      c: { "b.js": file(spec("cb")), "a.mts": file(spec("ca")) },
    });

    expect(urls).toEqual(["Z/a.ts", "a.ts", "b.mjs", "c/a.mts", "c/b.js"].map((path) => `file:///srv/ops/${path}`));
  });

  test("ignores declarations, tests, packages, hidden files and other files", async () => {
    const never = file(spec("never"));

    const { urls, skipped } = await scan({
      "a.d.ts": never,
      "a.d.mts": never,
      "a.test.ts": never,
      "a.spec.mjs": never,
      "a.test-d.ts": never,
      "a.bench.ts": never,
      "a.json": never,
      "a.tsx": never,
      "a.cjs": never,
      ".hidden.ts": never,
      ts: never,
      node_modules: { "a.js": never },
      __tests__: { "a.js": never },
      ".git": { "a.js": never },
    });

    expect({ urls, skipped }).toEqual({ urls: [], skipped: [] });
  });

  test("a name may contain characters with a meaning in URLs", async () => {
    const { urls, operations } = await scan({
      "100% #1?.js": file(spec("a")),
      "%2e%2e": { "b.js": file(spec("b")) },
    });

    expect(urls).toEqual(["file:///srv/ops/%252e%252e/b.js", "file:///srv/ops/100%25%20%231%3F.js"]);
    expect(operations.map(({ name }) => name)).toEqual(["b", "a"]);
  });

  test.each(["..", ".", "", "../evil.js", "a/b.js", "a\\b.js", "/etc/evil.js", "\ud800.js"])(
    "an entry called %j is never imported",
    async (name) => {
      const fs: ScannerFS = {
        async *readdir() {
          yield { name, isFile: true, isDirectory: true };
        },
        cwd: () => "/srv",
        import: async (url) => expect.fail(`imported ${url}`),
      };
      const reports: SourceReport[] = [];

      const operations = await scanOperations("ops", fs, { onReport: (report) => reports.push(report) });

      expect(operations).toEqual([]);
      expect(reports[0]?.skipped).toEqual([{ where: name, reason: "Its name is not a valid file name." }]);
    },
  );

  test("a directory that contains itself is reported", async () => {
    const loop: Tree = { "a.js": file(spec("a")) };
    loop["loop"] = loop;

    const { operations, urls, skipped } = await scan(loop);

    expect(operations.map(({ name }) => name)).toEqual(["a"]);
    expect(urls).toHaveLength(33);
    expect(skipped.at(0)?.reason).toBe("It is nested more than 32 directories deep.");
  });

  test("a scan stops at the maximum number of directories", async () => {
    const loop: Tree = {};
    loop["left"] = loop;
    loop["right"] = loop;

    const { skipped } = await scan(loop);

    expect(skipped.filter(({ reason }) => reason === "There are more than 10000 directories.")).toHaveLength(1);
  });

  test("a directory that cannot be read is reported, the others load", async () => {
    const { fs } = memory({ a: {}, b: { "b.js": file(spec("b")) } });
    const reports: SourceReport[] = [];
    const readdir: ScannerFS["readdir"] = (path) =>
      path === "ops/a" ? fs.readdir("/srv/ops/b/b.js") : fs.readdir(path);

    const operations = await scanOperations("ops", { ...fs, readdir }, { onReport: (report) => reports.push(report) });

    expect(operations.map(({ name }) => name)).toEqual(["b"]);
    expect(reports[0]?.skipped).toEqual([{ where: "a", reason: "It cannot be read: permission denied" }]);
  });
});

describe("what they export", () => {
  test("one or several operations, with and without a handler", async () => {
    const handler = () => 1;
    const [one, two, three] = [spec("one", { handler }), spec("two"), spec("three", { handler })];

    const { operations, skipped } = await scan({ "a.js": file(one), "b.js": file([two, three]) });

    expect(operations).toEqual([one, two, three]);
    expect(operations[0]).toBe(one);
    expect(skipped).toEqual([]);
  });

  test("the report lists the imported ids", async () => {
    const { fs } = memory({ "a.js": file([spec("one"), spec("two")]) });
    const reports: SourceReport[] = [];

    await scanOperations("ops", fs, { onReport: (report) => reports.push(report) });

    expect(reports).toEqual([{ imported: ["test.one", "test.two"], skipped: [], warnings: [] }]);
  });

  test.each<[string, unknown, string]>([
    [
      "a wrong field",
      spec("x", { type: "read" }),
      'Invalid operation "test.x": /type must be "query", "mutation" or "subscription".',
    ],
    [
      "a handler that is not a function",
      spec("x", { handler: 1 }),
      'Invalid operation "test.x": /handler must be a function; omit it to register the handler later.',
    ],
    [
      "nothing",
      undefined,
      "Invalid operation definition: it must be an object with namespace, name, version, type, inputSchema and outputSchema.",
    ],
    [
      "a function",
      () => 1,
      "Invalid operation definition: it must be an object with namespace, name, version, type, inputSchema and outputSchema.",
    ],
    [
      "a getter that throws",
      {
        get namespace() {
          throw new Error("no namespace");
        },
      },
      "no namespace",
    ],
  ])("%s is reported with the reason, and the others load", async (_, exported, reason) => {
    const { operations, skipped } = await scan({ "a.js": file(exported), "b.js": file(spec("b")) });

    expect(operations.map(({ name }) => name)).toEqual(["b"]);
    expect(skipped).toEqual([{ where: "a.js", reason }]);
  });

  test.each<[string, () => unknown, string]>([
    [
      "throws an error",
      () => {
        throw new Error("no database");
      },
      "no database",
    ],
    [
      "throws something else",
      () => {
        throw null;
      },
      "A value that is not an Error was thrown: null.",
    ],
    [
      "has a default that throws",
      () => ({
        get default() {
          throw new Error("not ready");
        },
      }),
      "not ready",
    ],
  ])("a module that %s is reported, and the others load", async (_, load, reason) => {
    const { operations, skipped } = await scan({ "a.js": load, "b.js": file(spec("b")) });

    expect(operations.map(({ name }) => name)).toEqual(["b"]);
    expect(skipped).toEqual([{ where: "a.js", reason: `It cannot be imported: ${reason}` }]);
  });

  test("a helper without a default export is ignored; operations exported by name are reported", async () => {
    const { operations, skipped } = await scan({
      "helper.js": () => ({ version: "1" }),
      "named.js": () => ({ create: spec("create"), remove: spec("remove"), helper: 1 }),
    });

    expect(operations).toEqual([]);
    expect(skipped).toEqual([
      {
        where: "named.js",
        reason: "It exports operations by name only (create, remove). Export one operation, or an array, as default.",
      },
    ]);
  });

  test("a compiled CommonJS module exports its inner default", async () => {
    const { operations } = await scan({ "a.js": file({ __esModule: true, default: spec("a") }) });

    expect(operations.map(({ name }) => name)).toEqual(["a"]);
  });

  test("the first of two operations with the same id is imported, and both places are named", async () => {
    const { operations, skipped } = await scan({
      "a.js": file(spec("x", { description: "first" })),
      "b.js": file([spec("x")]),
    });

    expect(operations.map(({ description }) => description)).toEqual(["first"]);
    expect(skipped).toEqual([{ where: "b.js[0]", reason: '"test.x" is already defined in a.js.' }]);
  });

  test("names of Object.prototype are ordinary names", async () => {
    const { operations } = await scan({ "a.js": file(spec("constructor", { namespace: "__proto__" })) });

    expect(operations.map(({ namespace, name }) => [namespace, name])).toEqual([["__proto__", "constructor"]]);
  });

  test("scanning stops at the maximum number of operations and reports it", async () => {
    const { operations, urls, skipped } = await scan(
      { "a.js": file([spec("one"), spec("two"), spec("three"), spec("four")]), "b.js": file(spec("five")) },
      { limits: { operations: 2 } },
    );

    expect(operations.map(({ name }) => name)).toEqual(["one", "two"]);
    expect(urls).toEqual(["file:///srv/ops/a.js"]);
    expect(skipped).toEqual([
      { where: "a.js[2]", reason: "There are more than 2 operations. Raise limits.operations to load them." },
    ]);
  });
});

test("without onReport each skipped item is a warning in the log", async () => {
  const records: LogRecord[] = [];
  await configure({
    sinks: { memory: (record) => records.push(record) },
    loggers: [
      { category: ["alkdev", "operations"], sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["memory"] },
    ],
  });
  const { fs } = memory({ "a.js": file(1), "b.js": file(spec("b")) });

  await scanOperations("ops", fs);

  expect(records.map(({ category, level, properties }) => ({ category, level, where: properties["where"] }))).toEqual([
    { category: ["alkdev", "operations", "from", "modules"], level: "warning", where: "a.js" },
  ]);
});

test("without onReport and logging, skipped items are on the console", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const broken = () => {
    throw new SyntaxError("Unexpected token");
  };
  const { fs } = memory({ "a.js": broken, "b.js": () => ({ create: spec("create") }), "c.js": file(spec("c")) });

  const operations = await scanOperations("ops", fs);

  expect(operations.map(({ name }) => name)).toEqual(["c"]);
  expect(warn.mock.calls).toEqual([
    ["[alkdev.operations.from.modules] ops: a.js was skipped. It cannot be imported: Unexpected token"],
    [
      "[alkdev.operations.from.modules] ops: b.js was skipped. It exports operations by name only (create). " +
        "Export one operation, or an array, as default.",
    ],
  ]);
  warn.mockRestore();
});

test("a file system is required", async () => {
  await expect(scanOperations("ops", undefined as never)).rejects.toThrow(
    "scanOperations() takes an object, not undefined. Example: scanOperations(folder, nodeFileSystem).",
  );
});
