import { quote } from "../../internal/text.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { Warn } from "./entry.ts";
import { type FilterSubject, findUnmatched } from "./filter.ts";
import { pathName } from "./names.ts";

/** Warns of settings that name something the document does not have: most are slips, and would show only much later. */
export function warnOfUnused(
  config: HTTPServiceConfig,
  subjects: readonly FilterSubject[],
  securitySchemes: ReadonlyMap<string, unknown>,
  warn: Warn,
): void {
  const { auth, pagination, rename } = config;
  for (const { setting, pattern } of findUnmatched(config, subjects)) {
    warn(`config.${setting}`, `${quote(pattern)} matches nothing in the document`);
  }
  if (typeof rename === "object") {
    const originals = subjects.map(({ operationId, method, path }) => operationId ?? pathName(method, path));
    warnOfStrangers("config.rename", rename, originals, warn);
  }
  if (typeof pagination === "object" && "operations" in pagination) {
    const names = subjects.flatMap(({ namespace, name }) => [name, `${namespace}.${name}`]);
    warnOfStrangers("config.pagination.operations", pagination.operations, names, warn);
  }
  for (const name of typeof auth === "object" && "schemes" in auth ? Object.keys(auth.schemes) : []) {
    if (!securitySchemes.has(name)) warn("config.auth.schemes", noScheme(name, securitySchemes));
  }
}

function warnOfStrangers(where: string, table: object, names: string[], warn: Warn): void {
  const known = new Set(names);
  for (const name of Object.keys(table)) {
    if (!known.has(name)) warn(where, `the document has no operation ${quote(name)}`);
  }
}

function noScheme(name: string, known: ReadonlyMap<string, unknown>): string {
  const others = [...known.keys()]
    .slice(0, 10)
    .map((other) => quote(other))
    .join(", ");
  return `the document declares no security scheme ${quote(name)}; it has ${others === "" ? "none" : others}`;
}
