/** A namespace: 1 to 64 characters, no dot, no control character. */
export const namespacePattern = /^[^.\p{Cc}\p{Cs}]{1,64}$/u;

const maxNamespaceLength = 64;

/** Converts the name of a foreign server to a namespace. */
export function toNamespace(server: string): string {
  const allowed = Array.from(server.replace(/[.\p{Cc}\p{Cs}]/gu, "_"));
  return allowed.length === 0 ? "mcp" : allowed.slice(0, maxNamespaceLength).join("");
}

/** A name: 1 to 256 characters, no control character. A lone surrogate has no UTF-8 form and is refused too. */
export const namePattern = /^[^\p{Cc}\p{Cs}]{1,256}$/u;

/** Returns the id of an operation, `namespace.name`. */
export function formatOperationId(namespace: string, name: string): string {
  // `join` creates a flat string; concatenation would keep both parts in memory for as long as the id.
  return [namespace, name].join(".");
}

/** Splits an id at its first dot, so that names may have dots. Returns `undefined` when the part before or after it is empty. */
export function parseOperationId(id: string): { namespace: string; name: string } | undefined {
  const dot = id.indexOf(".");
  if (dot < 1 || dot === id.length - 1) return undefined;
  return { namespace: id.slice(0, dot), name: id.slice(dot + 1) };
}

/** Returns the id that a value is or names, as a definition does. It may be any value, because handlers can pass on their input. */
export function operationIdOf(operation: unknown): string | undefined {
  if (typeof operation === "string") return operation;
  const { namespace, name } = (operation ?? {}) as { namespace?: unknown; name?: unknown };
  const hasNames = typeof namespace === "string" && typeof name === "string";
  return hasNames ? formatOperationId(namespace, name) : undefined;
}
