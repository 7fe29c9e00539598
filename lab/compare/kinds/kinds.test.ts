import { expect, test } from "vitest";
import { Random } from "../../chaos/random.ts";
import { describe } from "../describe.ts";
import { kinds } from "./index.ts";

test.each(kinds)("cases of $name depend on the seed alone", ({ name, generate }) => {
  for (let index = 0; index < 50; index++) {
    const make = (seed: number) => describe(generate(new Random(seed).fork(`${name} ${index}`)));

    expect(make(1)).toEqual(make(1));
    expect(make(1)).not.toEqual(make(2));
  }
});
