/**
 * `npm run docs`: copies code and output of examples into README, docs and TSDoc. With names of pages, it visits only these.
 * With `--check`, it writes nothing and fails on any difference.
 */
import { checkPages, writePages } from "./docs/pages.ts";
import { ExampleRunner } from "./examples.ts";

const args = process.argv.slice(2);
const only = args.filter((arg) => arg !== "--check");
await using runner = new ExampleRunner();
const { passed, failed, problems } = await (args.includes("--check") ? checkPages : writePages)(runner, only);
for (const problem of problems) console.log(problem);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
