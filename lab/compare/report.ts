import type { Expectation, Verdict } from "./judge.ts";

/** Formats the counts of each kind, the expected differences, and the unexpected ones. */
export function formatReport(
  verdicts: readonly Verdict[],
  expectations: readonly Expectation[],
  isWhole: boolean,
  shown = 12,
): string {
  return [
    ...formatTable(verdicts),
    "",
    "Expected differences:",
    ...expectations.map(({ id, what, wanted }) => {
      const count = verdicts.filter(({ expected }) => expected.includes(id)).length;
      return `  ${String(count).padStart(5)}  ${id}: ${what}\n         wanted by: ${wanted}`;
    }),
    ...(isWhole ? formatUnused(verdicts, expectations) : []),
    ...formatUnexpected(verdicts, shown),
  ].join("\n");
}

/** Returns the ids of expectations that no case met. */
export function findUnused(verdicts: readonly Verdict[], expectations: readonly Expectation[]): string[] {
  const met = new Set(verdicts.flatMap(({ expected }) => expected));
  return expectations.map(({ id }) => id).filter((id) => !met.has(id));
}

function formatTable(verdicts: readonly Verdict[]): string[] {
  const names = [...new Set(verdicts.map(({ kind }) => kind))];
  const groups = [
    ...names.map((name) => ({ name, own: verdicts.filter(({ kind }) => kind === name) })),
    { name: "total", own: verdicts },
  ];
  const rows = groups.map(({ name, own }) => {
    const unexpected = own.filter((one) => one.unexpected.length > 0).length;
    const expected = own.filter((one) => one.unexpected.length === 0 && one.expected.length > 0).length;
    const seconds = own.reduce((sum, { ms }) => sum + ms / 1_000, 0).toFixed(1);
    return [name, own.length, own.length - expected - unexpected, expected, unexpected, seconds].map(String);
  });
  const lines = [["kind", "cases", "equal", "expected", "unexpected", "seconds"], ...rows];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map((line) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join("  "),
  );
}

function formatUnused(verdicts: readonly Verdict[], expectations: readonly Expectation[]): string[] {
  const unused = findUnused(verdicts, expectations);
  return unused.length === 0 ? [] : ["", `Expected, but not found in any case: ${unused.join(", ")}`];
}

/** Groups unexpected differences by kind and place, with one example each. */
function formatUnexpected(verdicts: readonly Verdict[], shown: number): string[] {
  const groups = new Map<string, { cases: Set<number>; example: string }>();
  for (const { kind, index, unexpected } of verdicts) {
    for (const { path, reference, current } of unexpected) {
      const place = `${kind} ${path.replaceAll(/\/\d+/g, "/*")}`;
      const example = `--kind ${kind} --case ${index}\n      reference ${toLine(reference)}\n      current   ${toLine(current)}`;
      const group = groups.get(place) ?? { cases: new Set(), example };
      group.cases.add(index);
      groups.set(place, group);
    }
  }
  if (groups.size === 0) return [];
  const sorted = [...groups].sort(([, one], [, other]) => other.cases.size - one.cases.size);
  const lines = sorted
    .slice(0, shown)
    .map(([place, { cases, example }]) => `  ${place}: ${cases.size} cases, such as ${example}`);
  const rest = sorted.length > shown ? [`  and ${sorted.length - shown} other places, see --json`] : [];
  return ["", "Unexpected differences, by place:", ...lines, ...rest];
}

function toLine(value: unknown): string {
  const text = value === undefined ? "(missing)" : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
