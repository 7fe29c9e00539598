/** One request as it stands in a stream. */
export interface Entry {
  /** Milliseconds of the server's clock, a dash and a number. */
  id: string;
  from: string;
  text: string;
}

/** Reads entries as RESP 2 has them: id, then names and values in turn. Those that were deleted have no values. */
export function readEntries(reply: unknown): Entry[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap((item): Entry[] => {
    if (!Array.isArray(item)) return [];
    const [id, fields] = item as [string, unknown];
    if (!Array.isArray(fields)) return [];
    return [{ id, from: readField(fields, "from"), text: readField(fields, "frame") }];
  });
}

function readField(fields: unknown[], name: string): string {
  const index = fields.indexOf(name);
  const value: unknown = index % 2 === 0 ? fields[index + 1] : "";
  return typeof value === "string" ? value : "";
}

/** Tells whether an entry came after another. */
export function isAfter(id: string, other: string): boolean {
  const [time, number] = id.split("-").map(Number) as [number, number];
  const [otherTime, otherNumber] = other.split("-").map(Number) as [number, number];
  return time > otherTime || (time === otherTime && number > otherNumber);
}
