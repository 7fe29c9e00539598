import type { HTTPServiceConfig, OperationFilter } from "./config.ts";

/** What a filter looks at. */
export interface FilterSubject {
  namespace: string;
  name: string;
  /** As the document has it, which a rename may have changed. */
  operationId?: string;
  tags: readonly string[];
  method: string;
  path: string;
}

/** Decides by `include` and `exclude`; `exclude` wins. */
export function createFilter(config: HTTPServiceConfig): (subject: FilterSubject) => boolean {
  const included = config.include === undefined ? () => true : createMatcher(config.include);
  const excluded = config.exclude === undefined ? () => false : createMatcher(config.exclude);
  return (subject) => included(subject) && !excluded(subject);
}

function createMatcher(filter: string[] | OperationFilter): (subject: FilterSubject) => boolean {
  const {
    ids = [],
    tags = [],
    paths = [],
  } = Array.isArray(filter) ? { ids: filter, tags: filter, paths: filter } : filter;
  const [isId, isTag, isPath] = [ids, tags, paths].map(createGlobs) as [Test, Test, Test];
  return ({ namespace, name, operationId, tags: ofSubject, method, path }) =>
    isId(name) ||
    (operationId !== undefined && isId(operationId)) ||
    isId(`${namespace}.${name}`) ||
    ofSubject.some(isTag) ||
    isPath(path) ||
    isPath(`${method} ${path}`);
}

type Test = (text: string) => boolean;

/** Matches whole texts; `*` stands for any run of characters. Takes time linear in the text for each glob. */
function createGlobs(globs: string[]): Test {
  const exact = new Set(globs.filter((glob) => !glob.includes("*")));
  const patterns = globs.filter((glob) => glob.includes("*")).map((glob) => glob.split("*"));
  return (text) => exact.has(text) || patterns.some((parts) => matches(parts, text));
}

function matches(parts: string[], text: string): boolean {
  const [first, last] = [parts[0]!, parts.at(-1)!];
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
