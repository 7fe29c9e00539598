/** A place at which the results of two versions differ. A missing value is `undefined`. */
export interface Difference {
  /** JSON pointer into the result. */
  path: string;
  reference?: unknown;
  current?: unknown;
}

/** Lists the places at which two JSON values differ, as deep inside them as possible. */
export function findDifferences(reference: unknown, current: unknown, path = ""): Difference[] {
  if (Object.is(reference, current)) return [];
  if (isList(reference) && isList(current)) {
    const length = Math.max(reference.length, current.length);
    return Array.from({ length }, (_, index) =>
      findDifferences(reference[index], current[index], `${path}/${index}`),
    ).flat();
  }
  if (isRecord(reference) && isRecord(current)) {
    const keys = new Set([...Object.keys(reference), ...Object.keys(current)]);
    return [...keys].flatMap((key) => {
      const own = (record: Record<string, unknown>) => (Object.hasOwn(record, key) ? record[key] : undefined);
      const segment = key.replaceAll("~", "~0").replaceAll("/", "~1");
      return findDifferences(own(reference), own(current), `${path}/${segment}`);
    });
  }
  return [{ path, reference, current }];
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
