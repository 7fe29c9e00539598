import { type ReadonlySignal, signal, useSignal, useSignalEffect } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { toCallError } from "./hub.ts";

/** The state of data that a component shows. Old data stays while new data is loaded, and after a failure. */
export interface Query<T> {
  state: "loading" | "ready" | "error" | "denied";
  data?: T;
  error?: ReturnType<typeof toCallError>;
}

/**
 * Loads data for a component: `load` runs again when a signal that it reads before its first `await` changes, when `inputs`
 * change, or with the returned function. A newer run aborts the older one.
 */
export function useQuery<T>(load: (abort: AbortSignal) => Promise<T>, inputs?: unknown): [Query<T>, () => void] {
  const query = useSignal<Query<T>>({ state: "loading" });
  const runs = useSignal(0);
  const key = JSON.stringify(inputs);
  const current = useSignal(key);
  useEffect(() => {
    current.value = key;
  }, [current, key]);
  useSignalEffect(() => {
    runs.value; // The returned function changes it.
    current.value;
    const controller = new AbortController();
    const { data } = query.peek();
    query.value = { state: "loading", data };
    load(controller.signal).then(
      (loaded) => {
        if (!controller.signal.aborted) query.value = { state: "ready", data: loaded };
      },
      (thrown) => {
        if (controller.signal.aborted) return;
        const error = toCallError(thrown);
        query.value = { state: error.code === "ACCESS_DENIED" ? "denied" : "error", data, error };
      },
    );
    return () => controller.abort();
  });
  const again = useCallback(() => {
    runs.value += 1;
  }, [runs]);
  return [query.value, again];
}

/**
 * Returns the pages of a list: the first one is that of a query, and `loadNext` loads those after it. Further pages are
 * dropped when the first one changes.
 */
export function usePages<T>(
  first: T | undefined,
  loadNext: (known: readonly T[]) => Promise<T> | undefined,
): [pages: readonly T[], loadMore: () => void] {
  const more = useSignal<{ of: T | undefined; pages: readonly T[] }>({ of: undefined, pages: [] });
  const isLoading = useRef(false);
  const pages = first === undefined ? [] : [first, ...(more.value.of === first ? more.value.pages : [])];
  const loadMore = useCallback(async () => {
    const known = more.peek().of === first ? more.peek().pages : [];
    const next = first === undefined || isLoading.current ? undefined : loadNext([first, ...known]);
    if (next === undefined) return;
    isLoading.current = true;
    const page = await next.catch(() => undefined); // Scrolling on tries again.
    isLoading.current = false;
    if (page !== undefined) more.value = { of: first, pages: [...known, page] };
  }, [first, loadNext, more]);
  return [pages, loadMore];
}

/** Returns a signal that follows another one after it has not changed for some time. */
export function debounced<T>(source: ReadonlySignal<T>, ms: number): ReadonlySignal<T> {
  const result = signal(source.peek());
  let timer: ReturnType<typeof setTimeout> | undefined;
  source.subscribe((value) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      result.value = value;
    }, ms);
  });
  return result;
}
