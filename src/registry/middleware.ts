import type { Unsubscribe } from "../from/source.ts";
import { createGlobs } from "../internal/globs.ts";
import type { OperationSpec } from "../operation/index.ts";
import type { Middleware, OperationSelection } from "./types.ts";

type Selects = (operationId: string, spec: OperationSpec) => boolean;

/** One call of `use()`. The same middleware may be added twice, and each can be removed by itself. */
interface Installed {
  readonly middleware: Middleware;
  readonly selects: Selects;
}

/** The middleware of a registry, in the order in which it was added. */
export class MiddlewareList {
  #installed: readonly Installed[] = [];
  /** Called when the middleware of any operation may have changed. */
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  add(middleware: Middleware, selection: OperationSelection): Unsubscribe {
    if (typeof middleware !== "function") throw new TypeError("use() takes a function: (call, next) => next()");
    const installed: Installed = { middleware, selects: createSelector(selection) };
    this.#replace([...this.#installed, installed]);
    return () => {
      if (this.#installed.includes(installed)) this.#replace(this.#installed.filter((other) => other !== installed));
    };
  }

  /** The middleware that wraps an operation, outermost first. */
  select(operationId: string, spec: OperationSpec): readonly Middleware[] {
    return this.#installed.filter(({ selects }) => selects(operationId, spec)).map(({ middleware }) => middleware);
  }

  #replace(installed: readonly Installed[]): void {
    this.#installed = installed;
    this.#onChange();
  }
}

function createSelector({ include, exclude }: OperationSelection): Selects {
  const isIncluded = include === undefined ? () => true : createMatcher("include", include);
  const isExcluded = exclude === undefined ? () => false : createMatcher("exclude", exclude);
  return (operationId, spec) => isIncluded(operationId, spec) && !isExcluded(operationId, spec);
}

const tagPrefix = "tag:";

function createMatcher(option: "include" | "exclude", patterns: readonly string[]): Selects {
  if (!Array.isArray(patterns) || !patterns.every((pattern) => typeof pattern === "string")) {
    throw new TypeError(`"${option}" must be an array of strings, such as ["task.*", "tag:admin"].`);
  }
  const matchesId = createGlobs(patterns.filter((pattern) => !pattern.startsWith(tagPrefix)));
  const tagPatterns = patterns.filter((pattern) => pattern.startsWith(tagPrefix));
  const matchesTag = createGlobs(tagPatterns.map((pattern) => pattern.slice(tagPrefix.length)));
  return (operationId, { tags = [] }) => matchesId(operationId) || tags.some(matchesTag);
}
