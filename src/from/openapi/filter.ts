import { createGlobs } from "../../internal/globs.ts";
import { quote } from "../../internal/text.ts";
import type { HTTPServiceConfig, OperationFilter } from "./config.ts";
import type { Warn } from "./endpoint.ts";
import { badConfig } from "./errors.ts";
import { pathName } from "./names.ts";

/** The properties of an operation that a filter matches. */
export interface FilterSubject {
  namespace: string;
  name: string;
  /** The id in the document, before a rename. */
  operationId?: string;
  tags: readonly string[];
  method: string;
  path: string;
}

/** Creates a filter from `include` and `exclude`. `exclude` takes precedence. */
export function createFilter(config: HTTPServiceConfig): (subject: FilterSubject) => boolean {
  const included = config.include === undefined ? () => true : createMatcher(readFilter(config, "include"));
  const excluded = config.exclude === undefined ? () => false : createMatcher(readFilter(config, "exclude"));
  return (subject) => included(subject) && !excluded(subject);
}

/** Finds the patterns of `include` and `exclude` that do not match any operation. */
export function findUnmatched(
  config: HTTPServiceConfig,
  subjects: readonly FilterSubject[],
): Array<{ setting: Setting; pattern: string }> {
  const settings = (["include", "exclude"] as const).filter((setting) => config[setting] !== undefined);
  if (settings.length === 0) return [];
  const texts = {
    ids: [...new Set(subjects.flatMap(idsOf))],
    tags: [...new Set(subjects.flatMap(({ tags }) => tags))],
    paths: [...new Set(subjects.flatMap(pathsOf))],
  };
  return settings.flatMap((setting) => {
    const filter = readFilter(config, setting);
    const places = new Map<string, string[][]>();
    for (const kind of ["ids", "tags", "paths"] as const) {
      for (const pattern of filter[kind]) places.set(pattern, [...(places.get(pattern) ?? []), texts[kind]]);
    }
    const unmatched = [...places].filter(([pattern, of]) => !of.some((list) => list.some(createGlobs([pattern]))));
    return unmatched.map(([pattern]) => ({ setting, pattern }));
  });
}

type Setting = "include" | "exclude";

/** Reads a filter setting. A single list applies to ids, tags and paths. */
function readFilter(config: HTTPServiceConfig, setting: Setting): Required<OperationFilter> {
  const given = config[setting] ?? [];
  const { ids = [], tags = [], paths = [] } = Array.isArray(given) ? { ids: given, tags: given, paths: given } : given;
  const isUsable =
    typeof given === "object" &&
    [ids, tags, paths].every((list) => Array.isArray(list) && list.every((text) => typeof text === "string"));
  if (!isUsable) throw badConfig(`${setting} must be an array of strings, or { ids, tags, paths } with such arrays.`);
  return { ids, tags, paths };
}

function idsOf({ namespace, name, operationId }: FilterSubject): string[] {
  return [name, `${namespace}.${name}`, ...(operationId === undefined ? [] : [operationId])];
}

function pathsOf({ method, path }: FilterSubject): string[] {
  return [path, `${method} ${path}`];
}

function createMatcher({ ids, tags, paths }: Required<OperationFilter>): (subject: FilterSubject) => boolean {
  const [isId, isTag, isPath] = [ids, tags, paths].map(createGlobs) as [Test, Test, Test];
  return (subject) => idsOf(subject).some(isId) || subject.tags.some(isTag) || pathsOf(subject).some(isPath);
}

type Test = (text: string) => boolean;

/** Warns about settings that refer to a missing part of the document. Most of them are mistakes. */
export function warnOfUnused(
  config: HTTPServiceConfig,
  subjects: readonly FilterSubject[],
  securitySchemes: ReadonlyMap<string, unknown>,
  warn: Warn,
): void {
  const { auth, pagination, rename } = config;
  for (const { setting, pattern } of findUnmatched(config, subjects)) {
    warn(`config.${setting}`, `${quote(pattern)} does not match any operation of the document.`);
  }
  if (typeof rename === "object") {
    const originals = subjects.map(({ operationId, method, path }) => operationId ?? pathName(method, path));
    warnOfUnknown("config.rename", rename, originals, warn);
  }
  if (typeof pagination === "object" && "operations" in pagination) {
    const names = subjects.flatMap(({ namespace, name }) => [name, `${namespace}.${name}`]);
    warnOfUnknown("config.pagination.operations", pagination.operations, names, warn);
  }
  for (const name of typeof auth === "object" && "schemes" in auth ? Object.keys(auth.schemes) : []) {
    if (!securitySchemes.has(name)) warn("config.auth.schemes", noScheme(name, securitySchemes));
  }
}

function warnOfUnknown(where: string, table: object, names: string[], warn: Warn): void {
  const known = new Set(names);
  for (const name of Object.keys(table)) {
    if (!known.has(name)) warn(where, `The document has no operation ${quote(name)}.`);
  }
}

function noScheme(name: string, known: ReadonlyMap<string, unknown>): string {
  const others = [...known.keys()]
    .slice(0, 10)
    .map((other) => quote(other))
    .join(", ");
  return `The document declares no security scheme ${quote(name)}. It has ${others === "" ? "none" : others}.`;
}
