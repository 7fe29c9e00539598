import { signal } from "@preact/signals";
import type { CallRecord, SourceKind, SourceState } from "../app/api.ts";

/** The kinds of the sources that the page has seen, by name. */
export const sourceKinds = signal<ReadonlyMap<string, SourceKind>>(new Map());

/** Remembers the kinds of sources, for the marks of calls. */
export function rememberKinds(sources: readonly SourceState[]): void {
  sourceKinds.value = new Map([...sourceKinds.peek(), ...sources.map(({ name, kind }) => [name, kind] as const)]);
}

/** The kind of the source that a call belongs to. */
export function kindOf({ source, from }: CallRecord): SourceKind | undefined {
  const known = source === undefined ? undefined : sourceKinds.value.get(source);
  if (known !== undefined) return known;
  return from === undefined
    ? undefined
    : ({ local: "modules", http: "openapi", mcp: "mcp" } as const)[from.split(" ", 1)[0] as "http"];
}
