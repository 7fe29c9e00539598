import type { Kind } from "./kind.ts";

/** How many cases of each kind run, by its name. */
export type Plan = Readonly<Record<string, number>>;

/** Distributes `count` cases over kinds by weight. What a limited kind cannot take goes to the others. */
export function planCases(kinds: readonly Pick<Kind, "name" | "weight" | "atMost">[], count: number): Plan {
  const plan: Record<string, number> = {};
  let open = [...kinds];
  let left = count;
  for (;;) {
    const weight = open.reduce((sum, one) => sum + one.weight, 0);
    const full = open.filter(({ weight: own, atMost = Number.POSITIVE_INFINITY }) => (left * own) / weight > atMost);
    for (const { name, atMost = 0 } of full) {
      plan[name] = atMost;
      left -= atMost;
    }
    open = open.filter((one) => !full.includes(one));
    if (full.length === 0) {
      for (const { name, weight: own } of open) plan[name] = Math.ceil((left * own) / weight);
      return plan;
    }
  }
}
