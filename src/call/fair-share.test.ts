import { describe, expect, test } from "vitest";
import { FairShare } from "./fair-share.ts";

function take(share: FairShare, owner: string, times: number): number {
  let taken = 0;
  for (let time = 0; time < times; time++) if (share.take(owner)) taken += 1;
  return taken;
}

describe("a limit that owners share", () => {
  test("refuses the owner that has the most while more than half is in use", () => {
    const share = new FairShare(10);

    expect(take(share, "ada", 20)).toBe(6);
    expect(take(share, "bob", 20)).toBe(4);
    expect(share.used).toBe(10);
    expect(share.take("cy")).toBe(false);
  });

  test("keeps room for owners that have less", () => {
    const share = new FairShare(12);
    take(share, "ada", 20);

    expect(take(share, "bob", 2)).toBe(2);
    expect(take(share, "ada", 1)).toBe(0);
    expect(take(share, "cy", 1)).toBe(1);
  });

  test("gives released parts to others", () => {
    const share = new FairShare(4);
    take(share, "ada", 4);
    expect(take(share, "bob", 4)).toBe(1);

    for (let time = 0; time < 3; time++) share.release("ada");

    expect(share.used).toBe(1);
    expect(take(share, "bob", 4)).toBe(2);
    expect(take(share, "ada", 4)).toBe(1);
  });

  test("counts amounts", () => {
    const share = new FairShare(100);

    expect(share.take("ada", 101)).toBe(false);
    expect(share.take("ada", 60)).toBe(true);
    expect(share.take("ada", 1)).toBe(false);
    expect(share.take("bob", 41)).toBe(false);
    expect(share.take("bob", 40)).toBe(true);
    share.release("ada", 60);
    expect(share.used).toBe(40);
  });

  test("admits everyone without a limit", () => {
    expect(take(new FairShare(Number.POSITIVE_INFINITY), "ada", 1_000)).toBe(1_000);
  });
});
