import { expect, test } from "vitest";
import { SeenRequests } from "./seen-requests.ts";

test("the last ten thousand requests are known when they come again, those of others and new ones are not", () => {
  const seen = new SeenRequests();
  const ids = Array.from({ length: 10_000 }, (_, n) => `0f3c1a-${n.toString(36)}`);

  const first = ids.map((id) => seen.add("inbox.a", id));
  const again = ids.map((id) => seen.add("inbox.a", id));
  const others = ids.slice(0, 1_000).map((id) => seen.add("inbox.b", id));

  expect(first.filter((isSeen) => isSeen)).toEqual([]);
  expect(again.filter((isSeen) => !isSeen)).toEqual([]);
  expect(others.filter((isSeen) => isSeen)).toEqual([]);
});

test("where the sender ends and the id begins makes a difference", () => {
  const seen = new SeenRequests();

  expect([seen.add("ab", "c"), seen.add("a", "bc"), seen.add("ab", "c")]).toEqual([false, false, true]);
});
