import { expect, test } from "vitest";
import { applyMutant, describeMutant, listCandidates } from "./candidates.ts";

/** All changes of a program, as `kind: line afterwards`. */
function changesOf(text: string): string[] {
  return listCandidates("a.ts", text).map((mutant) => {
    return `${mutant.kind}: ${applyMutant(text, mutant).split("\n")[mutant.line - 1]!.trim()}`;
  });
}

test("conditions, comparisons, logic, numbers and returns are changed one at a time", () => {
  expect(changesOf("if (a < 3 && b === c) return d ?? 4;")).toEqual([
    "condition: if (!(a < 3 && b === c)) return d ?? 4;",
    "logic: if (((a < 3) || (b === c))) return d ?? 4;",
    "comparison: if (a <= 3 && b === c) return d ?? 4;",
    "number: if (a < 2 && b === c) return d ?? 4;",
    "comparison: if (a < 3 && b !== c) return d ?? 4;",
    "return: if (a < 3 && b === c) ;",
    "logic: if (a < 3 && b === c) return ((d) && (4));",
    "number: if (a < 3 && b === c) return d ?? 5;",
  ]);
});

test("statements that call, assign or throw are removed", () => {
  expect(changesOf("await close();\nthis.open = no;\nthrow new TypeError(a ? b : c);\ndelete x.y;")).toEqual([
    "statement: ;",
    "statement: ;",
    "throw: ;",
    "statement: ;",
  ]);
});

test("negations and question marks are removed, steps and arithmetic are reversed", () => {
  expect(changesOf("x = !a?.b;\nfor (; i < n; i++) total += i * n;\nconst f = () => true;")).toEqual([
    "statement: ;",
    "negation: x = (a?.b);",
    "optional: x = !a.b;",
    "condition: for (; !(i < n); i++) total += i * n;",
    "comparison: for (; i <= n; i++) total += i * n;",
    "arithmetic: for (; i < n; i--) total += i * n;",
    "arithmetic: for (; i < n; i++) total -= i * n;",
    "arithmetic: for (; i < n; i++) total += i / n;",
    "return: const f = () => undefined;",
    "boolean: const f = () => false;",
  ]);
});

test("types, imports, messages, strings and logging stay", () => {
  const text = [
    'import { a } from "./a.ts";',
    "type Count = 1 | 2;",
    "interface Options { limit?: 5 }",
    "const error = new CallError(code, limit + 1, { limit: 3 });",
    'log.warn("late", { by: 3 });',
    'const word = "1" + two;',
    "super();",
  ];

  expect(changesOf(text.join("\n"))).toEqual([]);
});

test("an opposite that another change yields already is left out", () => {
  expect(changesOf("if (!a) {}\nif (a !== b) {}\nwhile (true) {}")).toEqual([
    "negation: if ((a)) {}",
    "comparison: if (a === b) {}",
    "boolean: while (false) {}",
  ]);
});

test("a change is described on one short line", () => {
  const text = "close({\n  reason,\n});";
  const [removal] = listCandidates("a.ts", text);

  expect(describeMutant(text, removal!)).toBe("close({ reason, }); → (removed)");
});
