/** Copies running code into README, docs and TSDoc. With `--check` it writes nothing and fails on any difference. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { syncPage } from "./docs/sync.ts";
import { root } from "./subpaths.ts";

const check = process.argv.includes("--check");
let passed = 0;
let failed = 0;
for (const path of findPages()) {
  const before = readFileSync(resolve(root, path), "utf8");
  const { text, problems } = await syncPage(root, path, before);
  if (text !== before && check)
    problems.push(`${path}: differs from the files that its code comes from; run npm run docs:sync`);
  if (text !== before && !check) {
    writeFileSync(resolve(root, path), text);
    console.log(`updated ${path}`);
  }
  for (const problem of problems) console.log(problem);
  if (problems.length === 0) passed++;
  else failed++;
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function findPages(): string[] {
  return [
    ...readdirSync(root).filter((name) => name.endsWith(".md")),
    ...findFiles("docs", /\.md$/),
    ...findFiles("examples", /\.md$/),
    ...findFiles("src", /(?<!\.test|\.test-d|\.examples)\.ts$/),
  ];
}

function findFiles(folder: string, pattern: RegExp): string[] {
  if (!existsSync(resolve(root, folder))) return [];
  return readdirSync(resolve(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name) && !name.includes("node_modules"))
    .map((name) => `${folder}/${name}`)
    .sort();
}
