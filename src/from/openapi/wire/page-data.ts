import { readPointer } from "../../../internal/json-pointer.ts";

/** The items of a page: the data itself, or its first property that is an array. */
export function findItems(data: unknown): unknown[] | undefined {
  if (Array.isArray(data)) return data;
  if (typeof data !== "object" || data === null) return undefined;
  return Object.values(data).find((value) => Array.isArray(value));
}

const cursorKeys = /^(?:next_?(?:page)?_?(?:cursor|token|marker)|continuation_?token|end_?cursor|last_?id)$/i;
const holders = /^(?:meta|response_?metadata|page_?info|paging|pagination|cursors?|page|links)$/i;

/** Looks for the cursor of the next page where APIs usually put it. */
export function findCursor(data: unknown): string | number | undefined {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return undefined;
  const members = Object.entries(data);
  if (members.some(([key, value]) => /^(?:has_?(?:more|next_?page|next))$/i.test(key) && value === false))
    return undefined;
  for (const [key, value] of members) {
    if (cursorKeys.test(key) && isCursor(value)) return value;
  }
  for (const [key, value] of members) {
    const found = holders.test(key) ? (findCursor(value) ?? afterOf(value)) : undefined;
    if (found !== undefined) return found;
  }
  return lastIdOf(data as Record<string, unknown>);
}

/** `{ paging: { cursors: { after } } }`, `{ paging: { next: { after } } }`. */
function afterOf(value: unknown): string | number | undefined {
  for (const pointer of ["/after", "/next/after", "/cursors/after", "/next"]) {
    const found = readPointer(value, pointer);
    if (isCursor(found) && !/^https?:/.test(String(found))) return found;
  }
  return undefined;
}

/** `has_more` without a cursor: the pages are continued after the last item's id. */
function lastIdOf(data: Record<string, unknown>): string | number | undefined {
  if (data["has_more"] !== true && data["hasMore"] !== true) return undefined;
  const id = readPointer(findItems(data)?.at(-1), "/id");
  return isCursor(id) ? id : undefined;
}

function isCursor(value: unknown): value is string | number {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}
