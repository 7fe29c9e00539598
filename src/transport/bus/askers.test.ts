import { expect, test } from "vitest";
import { Askers } from "./askers.ts";

/** One more than are remembered. */
const many = 10_001;

test("a request waits for its asker's answer, though many others have asked meanwhile", async () => {
  const questions = new Map<string, string>();
  const askers = new Askers(
    (address, name) => void questions.set(address, name),
    (held) => [held],
  );
  const begun: unknown[] = [];
  const call = (requestId: string, until: number) => ({
    requestId,
    until,
    begin: (isAnswered: boolean) => void begun.push([requestId, isAnswered]),
    drop: () => void begun.push([requestId, "dropped"]),
  });

  askers.hold(askers.at("first"), call("first", Number.POSITIVE_INFINITY));
  askers.hold(askers.at("silent"), call("silent", 0));
  for (let n = 0; n < many; n++) askers.at(`${n}`);
  await new Promise((resolve) => setImmediate(resolve));
  askers.answer(questions.get("first")!, 1, []);
  askers.beat();

  expect(begun).toEqual([
    ["first", true],
    ["silent", false],
  ]);
});

test("a request that its caller has withdrawn is dropped, others of the same question begin", async () => {
  const questions: string[] = [];
  const asked: unknown[] = [];
  const askers = new Askers(
    (_address, name, calls) => {
      questions.push(name);
      asked.push(calls.map(({ requestId, attempt }) => [requestId, attempt]));
    },
    (held) => [held],
  );
  const ended: string[] = [];
  const hold = (requestId: string, attempt: number) =>
    askers.hold(askers.at("caller"), {
      requestId,
      attempt,
      until: Number.POSITIVE_INFINITY,
      begin: () => void ended.push(`${requestId} ${attempt} begun`),
      drop: () => void ended.push(`${requestId} ${attempt} dropped`),
    });

  hold("a", 0);
  hold("a", 1);
  hold("b", 0);
  await new Promise((resolve) => setImmediate(resolve));
  askers.answer(questions[0]!, 1, [{ requestId: "a" }]);

  const refs = [
    ["a", 0],
    ["a", 1],
    ["b", 0],
  ];
  expect(asked).toEqual([refs]);
  expect(ended).toEqual(["a 0 dropped", "a 1 begun", "b 0 begun"]);
});
