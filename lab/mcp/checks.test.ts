import { expect, test } from "vitest";
import { findProblem } from "./checks.ts";

const general = { id: "wire-schema-valid", status: "SUCCESS" };
const success = { id: "tools-call", status: "SUCCESS" };
const skipped = { id: "tools-call", status: "SKIPPED" };
const failure = { id: "tools-list", status: "FAILURE" };

test.each([
  ["with a success of its own passed", 0, [success, skipped, general], undefined],
  ["that was not run did not pass", 0, [], "no check of the scenario was run"],
  ["of which all was skipped did not pass", 0, [skipped, general], "no check of the scenario was run"],
  ["with a failure did not pass", 0, [success, failure, general], "failed: tools-list"],
  ["after which the suite failed did not pass", 1, [success, general], "the suite ended with code 1"],
])("a scenario %s", (_, exitCode, checks, problem) => {
  expect(findProblem(exitCode, checks)).toBe(problem);
});
