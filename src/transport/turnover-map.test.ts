import fc from "fast-check";
import { expect, test } from "vitest";
import { TurnoverMap } from "./turnover-map.ts";

const step = fc.record({
  kind: fc.constantFrom("set", "set", "set", "delete", "clear"),
  key: fc.nat(300),
  value: fc.nat(),
});

test("it has the same entries as a Map after any number of changes", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), fc.integer({ min: 1, max: 10 }), (steps, times) => {
      const map = new Map<number, number>();
      const turnover = new TurnoverMap<number, number>();
      for (let time = 0; time < times; time++) {
        for (const { kind, key, value } of steps) {
          if (kind === "set") {
            map.set(key, value);
            turnover.set(key, value);
          } else if (kind === "delete") expect(turnover.delete(key)).toBe(map.delete(key));
          else if (key < 5) {
            map.clear();
            turnover.clear();
          }
        }
      }

      expect(turnover.entries()).toEqual([...map]);
      expect(turnover.size).toBe(map.size);
      for (let key = 0; key <= 300; key++) expect(turnover.get(key)).toBe(map.get(key));
    }),
    { numRuns: 50 },
  );
});
