import { computed, signal } from "@preact/signals";

/** A place in the console. Everything that a person can look at has one. */
export interface Route {
  /** The first segment: `operations`, `calls`, …; empty for the overview. */
  view: string;
  /** The other segments, decoded: an id, for example. */
  rest: string;
  params: URLSearchParams;
}

/** Reads the fragment of an address, such as `#/operations/task.create?tab=calls`. */
export function parseRoute(fragment: string): Route {
  const [path = "", query = ""] = splitAt(fragment.replace(/^#\/?/, ""), "?");
  const [view, rest] = splitAt(path, "/");
  return { view: decode(view), rest: rest.split("/").map(decode).join("/"), params: new URLSearchParams(query) };
}

/** Returns the fragment of a place. Parameters without a value are left out. */
export function hrefTo(view: string, rest = "", params: Record<string, string | undefined> = {}): string {
  const path = [view, ...(rest === "" ? [] : rest.split("/"))].map(encodeURIComponent).join("/");
  const given = Object.entries(params).filter((entry): entry is [string, string] => (entry[1] ?? "") !== "");
  return given.length === 0 ? `#/${path}` : `#/${path}?${new URLSearchParams(given)}`;
}

/** The current place. */
export const route = signal<Route>(parseRoute(location.hash));

/** The current view, for components that do not depend on parameters. */
export const currentView = computed(() => route.value.view);

/** Goes to a place. `replace` adds no entry to the history of the browser: for filters and drafts. */
export function go(href: string, { replace = false } = {}): void {
  if (href === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", href);
  route.value = parseRoute(href);
}

/** Changes parameters of the current place. `undefined` and the empty string remove a parameter. */
export function setParams(changes: Record<string, string | undefined>): void {
  const { view, rest, params } = route.peek();
  go(hrefTo(view, rest, { ...Object.fromEntries(params), ...changes }), { replace: true });
}

/** Follows the address of the page: links, back and forward. */
export function followAddress(): void {
  const read = () => {
    route.value = parseRoute(location.hash);
  };
  read(); // Signing in has changed it.
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
}

function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** A malformed escape stays as it is written. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
