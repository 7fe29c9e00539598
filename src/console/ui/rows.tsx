import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bindKeys } from "../app/keys.ts";
import { isNarrow } from "./media.ts";
import { set } from "./set.ts";

interface RowsProps<T> {
  label: string;
  items: readonly T[];
  /** Number of all rows, if only the first ones are loaded. */
  total?: number;
  keyOf(item: T): string;
  /** Address of a row: Enter and a click go there. */
  hrefOf(item: T): string;
  children(item: T): ComponentChildren;
  /** Attributes of the row, such as `data-operation`. */
  attributesOf?(item: T): Record<string, string | undefined>;
  /** Called when rows near the end come into view. */
  onNearEnd?(): void;
  /** Called when a person scrolls away from the top, or back to it. */
  onScroll?(isAtTop: boolean): void;
}

/** Rows beyond the visible ones that are drawn, so that fast scrolling shows no gaps. */
const overscan = 8;

/**
 * A list of links with rows of one height, of which only the visible ones are in the document. Arrow keys, `j` and `k` move
 * between rows.
 */
export function Rows<T>(props: RowsProps<T>) {
  const { label, items, total = items.length, keyOf, hrefOf, children, attributesOf, onNearEnd, onScroll } = props;
  const height = isNarrow.value ? 52 : 32;
  const box = useRef<HTMLElement>(null);
  const top = useSignal(0);
  const viewport = useSignal(800);
  const selected = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      viewport.value = entry!.contentRect.height;
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [viewport]);
  const latest = useRef(items);
  latest.current = items;
  useEffect(() => {
    const move = (step: number) => {
      const all = latest.current;
      const at = all.findIndex((item) => keyOf(item) === selected.peek());
      const next = Math.min(all.length - 1, Math.max(0, at + step));
      if (all[next] === undefined) return;
      selected.value = keyOf(all[next]);
      const list = box.current!;
      if (next * height < list.scrollTop) list.scrollTop = next * height;
      if ((next + 1) * height > list.scrollTop + list.clientHeight)
        list.scrollTop = (next + 1) * height - list.clientHeight;
      requestAnimationFrame(() => list.querySelector<HTMLElement>("a.selected")?.focus({ preventScroll: true }));
    };
    const down = { does: "Next row", run: () => move(1) };
    const up = { does: "Previous row", run: () => move(-1) };
    return bindKeys([
      { key: "j", ...down },
      { key: "ArrowDown", ...down },
      { key: "k", ...up },
      { key: "ArrowUp", ...up },
    ]);
  }, [height, keyOf, selected]);
  const first = Math.max(0, Math.floor(top.value / height) - overscan);
  const last = Math.min(items.length, Math.ceil((top.value + viewport.value) / height) + overscan);
  const isNearEnd = last > items.length - 30 && items.length < total;
  useEffect(() => {
    if (isNearEnd) onNearEnd?.();
  }, [isNearEnd, onNearEnd, items.length]);
  return (
    <section
      class="rows"
      ref={box}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={(event) => {
        top.value = event.currentTarget.scrollTop;
        onScroll?.(event.currentTarget.scrollTop < height / 2);
      }}
    >
      <ul class="rows-all" style={{ height: `${items.length * height}px` }}>
        {items.slice(first, last).map((item, at) => (
          <li
            class="row-place"
            aria-posinset={first + at + 1}
            aria-setsize={total}
            key={keyOf(item)}
            style={{ transform: `translateY(${(first + at) * height}px)`, height: `${height}px` }}
          >
            <a
              class={keyOf(item) === selected.value ? "row selected" : "row"}
              href={hrefOf(item)}
              onFocus={set(selected, keyOf(item))}
              {...attributesOf?.(item)}
            >
              {children(item)}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
