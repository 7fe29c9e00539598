/** What a registry stores: specs, sources and their options. */
import type { IOperationDefinition, OperationSource, SourceChange, SourceReport } from "@alkdev/operations";
import type { Random } from "../../chaos/random.ts";
import { defineKind, outcomeOf } from "../kind.ts";
import type { Library } from "../library.ts";
import { anyOperation, anyOperations, define, idOf, type Operation } from "../operations.ts";

const mistakes: Array<Record<string, unknown>> = [
  { namespace: "" },
  { namespace: "a.b" },
  { namespace: "x".repeat(65) },
  { name: "" },
  { name: "line\nbreak" },
  { name: 5 },
  { type: "querry" },
  { inputSchema: "string" },
  { inputSchema: { type: "objekt" } },
  { outputSchema: null },
  { description: 1 },
  { version: 1 },
  { tags: "a" },
  { accessControl: {} },
  { accessControl: { requiredScopes: "read" } },
  { accessControl: { requiredScopes: [], resourceType: "a:b", resourceAction: "x" } },
  { accessControl: { requiredScopes: [], resourceId: "id" } },
  { errorSchemas: [{ code: "" }] },
  { errorSchemas: [{ code: "A", schema: {}, httpStatus: 99 }] },
  { outputPolicy: "loose" },
  { idempotent: "yes" },
  { handler: undefined },
  { handler: "no" },
  { _meta: [] },
  { title: 1 },
];

const methods = [
  "register",
  "register",
  "registerAll",
  "registerSpec",
  "registerHandler",
  "replace",
  "unregister",
] as const;

export const registration = defineKind({
  name: "registration",
  weight: 4,
  generate: (random) => ({
    steps: Array.from({ length: random.integer(2, 6) }, () => ({
      method: random.pick(methods),
      operation: anyOperation(random),
      mistake: random.chance(0.35) ? random.pick(mistakes) : {},
    })),
    query: random.pick(["create", "list tasks", "remove", "", "a title", "what it does", "zzz"]),
  }),
  run: async ({ steps, query }, library) => {
    const registry = new library.root.OperationRegistry({ log: false });
    const changes: unknown[] = [];
    registry.on("change", ({ kind, operationId }) => changes.push({ kind, operationId }));
    const outcomes = [];
    for (const { method, operation, mistake } of steps) {
      const definition = { ...define(operation, library), ...mistake } as IOperationDefinition;
      const id = idOf(operation);
      outcomes.push(
        await outcomeOf(() => {
          if (method === "registerHandler") return registry.registerHandler(id, definition.handler);
          if (method === "unregister") return registry.unregister(id);
          return method === "registerAll" ? registry.registerAll([definition]) : registry[method](definition);
        }),
      );
    }
    const found = registry.search(query).map(({ namespace, name }) => `${namespace}.${name}`);
    const json = await outcomeOf(() => JSON.parse(JSON.stringify(registry.getAllSpecs())));
    return { outcomes, changes, specs: registry.getAllSpecs(), json, found: found.sort(), listed: registry.list() };
  },
});

interface SourceCase {
  name: string;
  operations: Operation[];
  traits: Record<string, unknown>;
  options: Record<string, unknown>;
  later: { added: Operation[]; changed: Operation[]; removed: string[] } | undefined;
  fails: boolean;
}

function anyOptions(random: Random, operations: readonly Operation[]): Record<string, unknown> {
  const one = () => idOf(random.pick(operations));
  const pattern = () => random.pick(["task.*", "*.list", "*", "tag:a", "tag:*", "create", "nothing.*", one(), "*e*"]);
  const patterns = () => Array.from({ length: random.integer(1, 2) }, pattern);
  return {
    ...(random.chance(0.4) && { include: patterns() }),
    ...(random.chance(0.3) && { exclude: patterns() }),
    ...(random.chance(0.35) && {
      rename: random.pick([{ [one()]: "renamed" }, { [one()]: "list", "task.nothing": "x" }, "upper", { [one()]: "" }]),
    }),
    ...(random.chance(0.3) && { namespace: random.pick(["other", "task", "a.b"]) }),
    ...(random.chance(0.35) && {
      accessControl: random.pick([
        { requiredScopes: ["extra"] },
        { requiredScopes: [], requiredScopesAny: ["a", "b"] },
        { requiredScopes: [], customAuth: "mine" },
      ]),
    }),
  };
}

export const follow = defineKind({
  name: "follow",
  weight: 5,
  generate: (random) => {
    const sources = ["one", "two"].map((name): SourceCase => {
      const operations = anyOperations(random, random.integer(1, 4));
      const removed = operations.filter(() => random.chance(0.3)).map(idOf);
      const changed = operations.filter((one) => !removed.includes(idOf(one)) && random.chance(0.4));
      const known = new Set(operations.map(idOf));
      return {
        name,
        operations,
        traits: random.pick([{}, {}, { replacesAccess: true }, { definesRoutes: true }]),
        options: anyOptions(random, operations),
        later: random.chance(0.6)
          ? {
              added: anyOperations(random, 2).filter((one) => !known.has(idOf(one))),
              changed: changed.map((one) => ({ ...anyOperation(random), namespace: one.namespace, name: one.name })),
              removed,
            }
          : undefined,
        fails: random.chance(0.05),
      };
    });
    return { sources, local: random.chance(0.4) ? anyOperations(random, 2) : [], closes: random.pick([0, 1]) };
  },
  run: async ({ sources, local, closes }, library) => {
    const registry = new library.root.OperationRegistry({ log: false });
    const changes: unknown[] = [];
    const states: unknown[] = [];
    const observe = (step: string) =>
      states.push({
        step,
        order: registry.getAllSpecs().map(({ namespace, name }) => `${namespace}.${name}`),
        operations: Object.fromEntries(
          registry.getAllSpecs().map(({ namespace, name, version, title, accessControl, _meta }) => {
            return [`${namespace}.${name}`, { version, title, accessControl, _meta }];
          }),
        ),
      });
    registry.on("change", ({ kind, operationId }) => changes.push({ kind, operationId }));
    for (const one of local) registry.register(define(one, library));
    const followed = [];
    for (const source of sources) {
      const reports: SourceReport[] = [];
      const { rename } = source.options;
      const options = {
        ...source.options,
        ...(rename === "upper" && { rename: (id: string) => (id.endsWith("list") ? "LIST" : undefined) }),
        onReport: (report: SourceReport) => reports.push(report),
      };
      const { made, change } = makeSource(source, library);
      const following = await outcomeOf(() => registry.follow(made, options as never));
      observe(`followed ${source.name}`);
      followed.push({ following, reports, change });
    }
    for (const [index, { later }] of sources.entries()) {
      if (later === undefined) continue;
      followed[index]!.change();
      await new Promise((resolve) => setImmediate(resolve));
      observe(`changed ${index}`);
    }
    const { following } = followed[closes]!;
    const opened = (following as { returned?: { close(): Promise<void> } }).returned;
    await opened?.close();
    observe("closed");
    await registry.close();
    observe("registry closed");
    return {
      states,
      changes,
      reports: followed.map(({ reports, following }) => ({
        reports: reports.map(byText),
        failed: (following as { thrown?: unknown }).thrown,
      })),
      patterns: sources.flatMap(({ options }) => [options["include"] ?? [], options["exclude"] ?? []]).flat(),
      shared: findShared(sources, local),
    };
  },
});

/** The ids in the registry that more than one of the sources and the program have, now or later. */
function findShared(sources: readonly SourceCase[], local: readonly Operation[]): string[] {
  const offered = sources.map(({ operations, later, options }) => {
    const rename = (options["rename"] ?? {}) as Record<string, string>;
    return [...operations, ...(later?.added ?? [])].map((one) => {
      const name =
        rename[idOf(one)] ?? ((rename as unknown) === "upper" && one.name.endsWith("list") ? "LIST" : one.name);
      return `${options["namespace"] ?? one.namespace}.${name}`;
    });
  });
  const all = [...offered.flat(), ...local.map(idOf)];
  return [...new Set(all.filter((id, index) => all.indexOf(id) !== index))];
}

/** A report whose lines are keys, so that a difference is one line. */
function byText(report: SourceReport): unknown {
  const lines = (list: Array<{ where: string; reason: string }>) =>
    Object.fromEntries(list.map(({ where, reason }) => [`${where}: ${reason}`, true]));
  return { imported: report.imported, skipped: lines(report.skipped), warnings: lines(report.warnings) };
}

function makeSource(source: SourceCase, library: Library) {
  const { name, operations, traits, later, fails } = source;
  const listeners = new Set<(change: SourceChange) => void>();
  const made: OperationSource = {
    name: `test:${name}`,
    ...({ ...traits, traits } as object), // Versions before the traits had them as members.
    load: async () => {
      if (fails) throw new Error("The source is broken.");
      return operations.map((one) => define(one, library));
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {},
  };
  const toDefinitions = (list: Operation[]) => list.map((one) => define(one, library));
  const change = () => {
    const { added = [], changed = [], removed = [] } = later ?? {};
    for (const listener of listeners)
      listener({ added: toDefinitions(added), changed: toDefinitions(changed), removed });
  };
  return { made, change };
}
