import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { copy } from "../app/announce.ts";
import { Icon, type IconName } from "./icons.tsx";
import { set } from "./set.ts";
import { formatCount } from "./text.tsx";

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** The name of a button that shows only an icon. */
  label?: string;
  kind?: "primary" | "quiet" | "danger";
  disabled?: boolean;
  onClick(): void;
}

/** A button. */
export function Button({ children, icon, label, kind, disabled, onClick }: ButtonProps) {
  return (
    <button
      type="button"
      class={`button ${kind ?? ""} ${children === undefined ? "icon-only" : ""}`}
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={onClick}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface TabsProps<T extends string> {
  label: string;
  tabs: readonly (readonly [id: T, name: ComponentChildren])[];
  selected: T;
  onSelect(id: T): void;
}

/** A row of tabs. Arrow keys move between them. */
export function Tabs<T extends string>({ label, tabs, selected, onSelect }: TabsProps<T>) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = tabs.findIndex(([id]) => id === selected);
    onSelect(tabs[(at + step + tabs.length) % tabs.length]![0]);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(([id, name]) => (
        <button
          type="button"
          role="tab"
          key={id}
          data-tab={id}
          aria-selected={id === selected}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

interface MenuProps {
  label: string;
  children: ComponentChildren;
  icon?: IconName;
  items: readonly (readonly [name: ComponentChildren, run: () => void])[];
}

/** A button that opens a list of actions. */
export function Menu({ label, children, icon = "down", items }: MenuProps) {
  const isOpen = useSignal(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) isOpen.value = false;
    };
    addEventListener("pointerdown", close);
    return () => removeEventListener("pointerdown", close);
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...root.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape" && isOpen.value) {
      event.preventDefault();
      isOpen.value = false;
      root.current!.querySelector("button")!.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      isOpen.value = true;
      const step = event.key === "ArrowDown" ? 1 : -1;
      requestAnimationFrame(() => {
        const shown = [...root.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
        shown[(at + step + shown.length) % shown.length]?.focus();
      });
    }
  };
  return (
    <div class="menu" role="none" ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        class="button quiet"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        onClick={set(isOpen, !isOpen.value)}
      >
        {children}
        <Icon name={icon} />
      </button>
      {isOpen.value && (
        <div class="menu-items" role="menu" aria-label={label}>
          {items.map(([name, run], at) => (
            <button
              type="button"
              role="menuitem"
              key={at}
              onClick={() => {
                isOpen.value = false;
                run();
              }}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  /** Shown for the empty value. */
  all: string;
  options: readonly (readonly [value: string, name: string])[];
  onChange(value: string): void;
}

/** A filter with a fixed set of values. */
export function Select({ label, value, all, options, onChange }: SelectProps) {
  const known =
    value === "" || options.some(([one]) => one === value) ? options : [[value, value] as const, ...options];
  return (
    <select
      class={value === "" ? "filter" : "filter active"}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      <option value="">{all}</option>
      {known.map(([one, name]) => (
        <option key={one} value={one}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface SearchBoxProps {
  label: string;
  value: string;
  onInput(value: string): void;
}

/** A field for words to search for; `/` focuses it. */
export function SearchBox({ label, value, onInput }: SearchBoxProps) {
  return (
    <label class="search">
      <Icon name="search" />
      <input
        type="search"
        data-focus="search"
        placeholder={label}
        aria-label={label}
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** A button that copies text, and says so. */
export function CopyButton({ text, what }: { text: () => string; what: string }) {
  return (
    <Button icon="copy" kind="quiet" onClick={() => void copy(text(), what)}>
      Copy
    </Button>
  );
}

/** A button that draws the next members of something that is too long to draw at once. */
export function MoreButton({
  shown,
  step,
  total,
  noun,
}: {
  shown: Signal<number>;
  step: number;
  total: number;
  noun: string;
}) {
  if (total <= shown.value) return null;
  return (
    <Button
      kind="quiet"
      onClick={() => {
        shown.value += step;
      }}
    >
      Show {formatCount(Math.min(step, total - shown.value))} more of {formatCount(total)} {noun}
    </Button>
  );
}

const isMac = navigator.platform.startsWith("Mac");

/** The keys of an action, as they stand on the keyboard. */
export function KeyHint({ name }: { name: string }) {
  const names: Record<string, string> = { Enter: "↵", Escape: "Esc", k: "K" };
  const [modifier, key] = name.startsWith("Mod+") ? [isMac ? "⌘" : "Ctrl ", name.slice(4)] : ["", name];
  const text = modifier === "" ? (key === "Escape" ? "Esc" : key) : modifier + (names[key] ?? key);
  return <kbd>{text}</kbd>;
}

interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}

/** A modal dialog. Escape and its close button close it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose} closedby="any">
      <header class="dialog-header">
        <h2>{title}</h2>
        <Button icon="close" kind="quiet" label="Close" onClick={() => dialog.current!.close()} />
      </header>
      {children}
    </dialog>
  );
}
