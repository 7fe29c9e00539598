/** A namespace: 1 to 64 characters, no dot, no control character. */
export const namespacePattern = /^[^.\p{Cc}\p{Cs}]{1,64}$/u;

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

/**
 * Returns the path of an operation in URLs, `/namespace/name`. A name keeps its slashes; other characters are
 * percent-encoded. Returns `undefined` for what URLs cannot contain: a segment `.` or `..`, or a lone surrogate.
 */
export function formatOperationPath(namespace: string, name: string): string | undefined {
  const segments = [namespace, ...name.split("/")];
  if (segments.some((segment) => segment === "." || segment === "..")) return undefined;
  try {
    return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
  } catch {
    return undefined;
  }
}
