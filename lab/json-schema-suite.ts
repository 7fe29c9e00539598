/** `npm run lab -- suite`: runs the JSON Schema Test Suite through `FromSchema`, and prints passed of total per draft. */
import { drafts, runSuite } from "../test/support/json-schema-suite.ts";

for (const draft of Object.keys(drafts) as Array<keyof typeof drafts>) {
  const { passed, total, failed } = runSuite(draft);
  console.log(`${draft}: ${passed}/${total}`);
  for (const name of failed) console.log(`  ${name}`);
}
