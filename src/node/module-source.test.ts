import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { FSWatcher } from "chokidar";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { OperationRegistry, type SourceReport } from "../index.ts";
import { moduleSource } from "./index.ts";

let home: string;
let directory: string;
let registry: OperationRegistry;
const reports: SourceReport[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "module source "));
  directory = join(home, "operations");
  await mkdir(directory);
  registry = new OperationRegistry();
});
afterEach(async () => {
  reports.length = 0;
  await registry.close();
  await rm(home, { recursive: true });
});

/** The code of an operation whose handler returns the value of an expression. */
function code(name: string, value: string, imports = ""): string {
  return `${imports}
    export default { namespace: "test", name: "${name}", version: "1.0.0", type: "query", description: "",
      inputSchema: {}, outputSchema: {}, accessControl: { requiredScopes: ["test"] }, handler: () => ${value} };`;
}

const write = (path: string, text: string) => writeFile(join(directory, path), text);

function follow() {
  const source = moduleSource(directory, { watch: true });
  return registry.follow(source, { onReport: (report) => reports.push(report) });
}

function names(): string[] {
  return registry.list().map(({ name }) => name);
}

async function call(name: string): Promise<unknown> {
  const identity = { id: "ada", scopes: ["test"] };
  return (await registry.execute(`test.${name}`, {}, { identity }).catch((error) => ({ data: error.code }))).data;
}

const eventually = (check: () => unknown) => vi.waitFor(check, { interval: 20 });

test.each([
  ["path", () => directory],
  ["URL", () => pathToFileURL(directory)],
])("a registry follows a directory by its %s with one line, in the order of the paths", async (_kind, place) => {
  await write("b.mjs", code("first", "1"));
  await write("c.ts", code("second", "2 as number"));
  await mkdir(join(directory, "a"));
  await write("a/z.mts", code("third", "3 as number"));

  await registry.follow(moduleSource(place()), { accessControl: { requiredScopes: ["more"] } });

  expect(names()).toEqual(["third", "first", "second"]);
  expect(registry.getSpec("test.first")?.accessControl).toEqual({ requiredScopes: ["test", "more"] });
});

test("closing does not wait for a module that never ends loading, and the modules after it are not loaded", async () => {
  await write(
    "a.mjs",
    "globalThis.isLoadingA = true; await new Promise((resolve) => { globalThis.finishA = resolve; });",
  );
  await write("b.mjs", "globalThis.isBLoaded = true;");
  const state = globalThis as { isLoadingA?: boolean; isBLoaded?: boolean; finishA?: () => void };
  const source = moduleSource(directory, { watch: true });
  const following = registry.follow(source).catch(({ code }) => code);
  await eventually(() => expect(state.isLoadingA).toBe(true));

  await registry.close();
  expect(await following).toBe("UNAVAILABLE");
  state.finishA?.();
  await source.load(); // after the first reading has ended

  expect(state.isBLoaded).toBeUndefined();
});

test("reload() loads the modules whose files have changed, without a watcher", async () => {
  await write("a.mjs", code("a", "1"));
  await write("b.mjs", code("b", "1"));
  const source = moduleSource(directory);
  await registry.follow(source);
  const unchanged = registry.getHandler("test.b");

  await write("a.mjs", code("a", "20"));
  await source.reload();

  expect([await call("a"), names()]).toEqual([20, ["a", "b"]]);
  expect(registry.getHandler("test.b")).toBe(unchanged);
});

test("operations without a handler are skipped and reported", async () => {
  await write("a.mjs", code("spec", "1").replace(/, handler: .*? };/, " };"));

  await registry.follow(moduleSource(directory), { onReport: (report) => reports.push(report) });

  const reason = "It has no handler. Load it with scanOperations(), and register its spec and handler.";
  expect(reports).toEqual([{ imported: [], skipped: [{ where: "test.spec", reason }], warnings: [] }]);
});

test("a module that cannot be loaded is visible on the console, and the others are loaded", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  try {
    await write("a.mjs", "throw new Error('no database');");
    await write("b.mjs", code("b", "1"));

    await registry.follow(moduleSource(directory));

    expect(names()).toEqual(["b"]);
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      `[alkdev.operations.node] ${directory}: a.mjs was skipped. It cannot be imported: no database`,
    ]);
  } finally {
    warn.mockRestore();
  }
});

test("a missing directory fails the line", async () => {
  await expect(registry.follow(moduleSource(join(home, "none"), { watch: true }))).rejects.toMatchObject({
    code: "EXECUTION_ERROR",
    message: expect.stringContaining("Cannot scan"),
  });
});

describe("with watch", () => {
  test.each(["mjs", "js", "ts", "mts"])("a changed .%s module is loaded again, as often as it changes", async (ext) => {
    await write(`task.${ext}`, code("task", "1"));
    await follow();
    const first = await call("task");

    for (const version of [2, 3]) {
      await write(`task.${ext}`, code("task", String(version)));
      await eventually(async () => expect(await call("task")).toBe(version));
    }

    expect(first).toBe(1);
  });

  test("a module is loaded when its content follows an empty file unnoticed", async () => {
    await write("task.mjs", code("task", "1"));
    const source = moduleSource(directory, { watch: true });
    await registry.follow(source);
    await new Promise((resolve) => setTimeout(resolve, 150)); // The watcher reports the files that it finds when it starts.
    const reporting = vi.spyOn(FSWatcher.prototype, "emit").mockReturnValue(true);
    try {
      await write("task.mjs", "");
      await source.reload();
      await write("task.mjs", code("task", "2"));
      await eventually(async () => expect(await call("task")).toBe(2));
    } finally {
      reporting.mockRestore();
    }
  });

  test("modules that are added, renamed and removed are followed, also in new directories", async () => {
    await write("a.mjs", code("a", "1"));
    await follow();

    await mkdir(join(directory, "new/deep"), { recursive: true });
    await write("new/deep/b.mjs", code("b", "2"));
    await eventually(() => expect(names()).toEqual(["a", "b"]));
    await write("new/deep/b.mjs", code("c", "3"));
    await eventually(() => expect(names()).toEqual(["a", "c"]));
    await rename(join(directory, "new"), join(directory, "old"));
    await write("old/deep/d.mjs", code("d", "4"));
    await eventually(() => expect(names().sort()).toEqual(["a", "c", "d"]));
    await rm(join(directory, "old"), { recursive: true });
    await eventually(() => expect(names()).toEqual(["a"]));
  });

  test.each(["mjs", "ts"])(
    "a module is loaded again when a .%s file in the folder that it imports changes",
    async (ext) => {
      await mkdir(join(directory, "lib"));
      await write(`lib/near.${ext}`, "export const near = 1;");
      await write("sum.mjs", code("sum", "near", `import { near } from "./lib/near.${ext}";`));
      await follow();

      await write(`lib/near.${ext}`, "export const near = 20;");
      await eventually(async () => expect(await call("sum")).toBe(20));
      await write(`lib/near.${ext}`, "export const near = 300;");
      await eventually(async () => expect(await call("sum")).toBe(300));
    },
  );

  test("a module that fails to load is reported, keeps its last version, and is loaded when it is repaired", async () => {
    await write("a.mjs", code("a", "1"));
    await write("b.mjs", code("b", "1"));
    await follow();

    await write("a.mjs", "throw new Error('broken');");
    await eventually(() => expect(reports.flatMap(({ warnings }) => warnings)).not.toEqual([]));
    const kept = await call("a");
    await write("a.mjs", code("a", "2"));
    await eventually(async () => expect(await call("a")).toBe(2));

    const reason = "It cannot be imported, and its last version stays registered: broken";
    expect(reports.at(1)).toEqual({ imported: [], skipped: [], warnings: [{ where: "a.mjs", reason }] });
    expect([kept, names()]).toEqual([1, ["a", "b"]]);
  });

  test("an empty file is being written, and its last version stays", async () => {
    await write("a.mjs", code("a", "1"));
    await write("b.mjs", code("b", "1"));
    await follow();

    await write("a.mjs", "");
    await write("b.mjs", code("b", "2"));
    await eventually(async () => expect(await call("b")).toBe(2));

    expect([await call("a"), names()]).toEqual([1, ["a", "b"]]);
  });

  test("a directory that is gone is reported, and its operations stay until it is back", async () => {
    const warn = vi.spyOn(console, "warn");
    const warnings = () => reports.flatMap((report) => report.warnings);
    await write("a.mjs", code("a", "1"));
    await follow();

    await rename(directory, `${directory}-moved`);
    await eventually(() => expect(warnings()).not.toEqual([]));
    const kept = await call("a");
    await rename(`${directory}-moved`, directory);
    await write("a.mjs", code("a", "2"));
    await eventually(async () => expect(await call("a")).toBe(2));

    const reason = expect.stringMatching(/^Cannot scan .* Its operations stay, and it is read again\.$/);
    expect([kept, warnings()]).toEqual([1, [{ where: ".", reason }]]);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  test("a changed operation keeps its place, and others are not replaced", async () => {
    await write("a.mjs", code("a", "1"));
    await write("b.mjs", code("b", "1"));
    await follow();
    const changes: string[] = [];
    registry.on("change", ({ kind, operationId }) => changes.push(`${kind} ${operationId}`));

    await write("a.mjs", code("a", "2"));
    await eventually(async () => expect(await call("a")).toBe(2));

    expect([changes, names()]).toEqual([["changed test.a"], ["a", "b"]]);
  });

  test.runIf(process.platform === "linux")("closing stops watching", async () => {
    await mkdir(join(directory, "deep"));
    await write("deep/a.mjs", code("a", "1"));
    const before = await countWatches();
    const following = await follow();
    const during = await countWatches();

    await following.close();

    expect([during > before, (await countWatches()) - before, names()]).toEqual([true, 0, []]);
  });
});

/** How many directories this process watches. */
async function countWatches(): Promise<number> {
  const files = (await readdir("/proc/self/fdinfo")).map((name) => readFile(`/proc/self/fdinfo/${name}`, "utf8"));
  const texts = await Promise.all(files.map((text) => text.catch(() => "")));
  return texts.join("\n").match(/^inotify /gm)?.length ?? 0;
}

test("a folder is required", () => {
  expect(() => moduleSource(undefined as never)).toThrow(
    "moduleSource() takes the path or URL of a folder, not undefined.",
  );
});
