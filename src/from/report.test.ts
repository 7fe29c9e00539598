import { expect, test, vi } from "vitest";
import { logger } from "../internal/log.ts";
import { ReportBuilder } from "./report.ts";

const log = logger("from", "test");

test("a warning is kept once per place and reason, also when an earlier report had it", () => {
  const first = new ReportBuilder();
  first.skipped("a", "too large");
  first.warn("b", "ambiguous");
  const second = new ReportBuilder(first);
  second.warn("b", "ambiguous");
  second.warn("b", "outdated");
  second.imported("ns.c");

  expect(second.report).toEqual({
    imported: ["ns.c"],
    skipped: [{ where: "a", reason: "too large" }],
    warnings: [
      { where: "b", reason: "ambiguous" },
      { where: "b", reason: "outdated" },
    ],
  });
  expect(first.report.warnings).toHaveLength(1);
});

test("a long reason is cut", () => {
  const builder = new ReportBuilder();

  builder.skipped("a", "x".repeat(10_000));

  expect(builder.report.skipped[0]!.reason.length).toBeLessThan(600);
});

test("items that the configuration excludes are not logged, also when they come from an earlier report", () => {
  const warn = vi.spyOn(log, "warn");
  const first = new ReportBuilder();
  first.skipped("a", "excluded", { requested: true });
  first.skipped("b", "too large");
  const second = new ReportBuilder(first);
  second.warn("c", "ambiguous");

  second.deliver({ source: "svc", log });

  expect(warn.mock.calls).toEqual([
    ["{source}: {where} was skipped. {reason}", { source: "svc", where: "b", reason: "too large" }],
    ["{source}: {where}: {reason}", { source: "svc", where: "c", reason: "ambiguous" }],
  ]);
  warn.mockRestore();
});
