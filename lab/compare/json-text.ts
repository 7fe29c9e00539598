/** Writes any value as JSON: what JSON does not have becomes a string or `null`, also an object that occurs twice. */
export function toJSONText(value: unknown): string {
  const seen = new Set<unknown>();
  const text = JSON.stringify(value, (_, inner) => {
    if (typeof inner === "bigint") return String(inner);
    if (typeof inner !== "object" || inner === null) return inner;
    if (seen.has(inner)) return null;
    seen.add(inner);
    return inner;
  });
  return text ?? "null";
}
