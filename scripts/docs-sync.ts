/**
 * Copies code and output of examples into README, docs and TSDoc. With `--check`, it writes nothing and fails on any
 * difference.
 */
import { checkPages, writePages } from "./docs/pages.ts";
import { ExampleRunner } from "./examples.ts";

await using runner = new ExampleRunner();
const { passed, failed, problems } = await (process.argv.includes("--check") ? checkPages : writePages)(runner);
for (const problem of problems) console.log(problem);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
