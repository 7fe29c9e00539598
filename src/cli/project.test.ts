import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createProject, findExistingConfig } from "./project.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "project-"));
});

afterEach(() => rm(folder, { recursive: true }));

const files = [
  "package.json",
  "operations.config.ts",
  "operations/greeting.ts",
  "tsconfig.json",
  ".gitignore",
  "README.md",
];

test("a project is created in a folder that does not exist yet", async () => {
  const inner = join(folder, "My Hub!");
  expect(await findExistingConfig(inner)).toBe(undefined);
  expect(await createProject(inner, "1.2.3")).toEqual({ folder: inner, created: files, kept: [] });
  expect(JSON.parse(await readFile(join(inner, "package.json"), "utf8"))).toEqual({
    name: "my-hub",
    private: true,
    type: "module",
    scripts: {
      start: "operations serve --config operations.config.ts",
      dev: "operations serve --dev --config operations.config.ts",
    },
    dependencies: { "@alkdev/operations": "^1.2.3" },
  });
  expect(await findExistingConfig(inner)).toBe("operations.config.ts");
});

test("files that exist are never changed", async () => {
  await writeFile(join(folder, "package.json"), "mine");
  await writeFile(join(folder, "README.md"), "mine too");
  const kept = ["package.json", "README.md"];
  const created = files.filter((file) => !kept.includes(file));
  expect(await createProject(folder, "1.2.3")).toEqual({ folder, created, kept });
  expect(await readFile(join(folder, "package.json"), "utf8")).toBe("mine");
  expect(await createProject(folder, "1.2.3")).toEqual({ folder, created: [], kept: files });
});

test.each(["!!!", "..."])("a folder without letters has a package name too: %s", async (name) => {
  await createProject(join(folder, name), "1.2.3");
  const { name: actual } = JSON.parse(await readFile(join(folder, name, "package.json"), "utf8"));
  expect(actual).toBe("operations-project");
});
