import { expect, test } from "vitest";
import { Askers } from "./askers.ts";

/** One more than are remembered. */
const many = 10_001;

test("a request waits for its asker's answer, though many others have asked meanwhile", async () => {
  const questions = new Map<string, string>();
  const askers = new Askers((address, name) => void questions.set(address, name));
  const begun: unknown[] = [];
  const never = { heldAt: 0, until: Number.POSITIVE_INFINITY };

  askers.hold(askers.at("first"), { ...never, begin: (isAnswered) => begun.push(["first", isAnswered]) });
  askers.hold(askers.at("silent"), { heldAt: 0, until: 0, begin: (isAnswered) => begun.push(["silent", isAnswered]) });
  for (let n = 0; n < many; n++) askers.at(`${n}`);
  await new Promise((resolve) => setImmediate(resolve));
  askers.answer(questions.get("first")!, 1);
  askers.beat();

  expect(begun).toEqual([
    ["first", true],
    ["silent", false],
  ]);
});
