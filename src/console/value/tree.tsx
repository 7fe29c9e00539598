import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { extendPointer } from "../../internal/json-pointer.ts";
import { isSecretName } from "../../internal/secrets.ts";
import type { Drift } from "../../operation/index.ts";
import { Button, MoreButton } from "../ui/parts.tsx";
import { set } from "../ui/set.ts";
import { formatBytes, formatCount, visibleName, visibleProse } from "../ui/text.tsx";

/** Members that are drawn at once; a button draws the next ones. */
const maxMembers = 100;
/** Characters of a string that are drawn; a button draws all. */
const maxString = 2_000;
/** Levels and members that are open at the start. */
const openDepth = 2;
const openMembers = 40;
/** Members that are shown of an object that is folded. */
const maxPreview = 4;

/** A JSON value as a tree that draws only what is open. Repairs of the value stand at their place, which is open. */
export function ValueTree({ value, drift = [], label }: { value: unknown; drift?: readonly Drift[]; label: string }) {
  return (
    <div class="tree" role="tree" aria-label={label}>
      <Node name={undefined} value={value} path="" depth={0} drift={drift} />
    </div>
  );
}

interface NodeProps {
  name: string | undefined;
  value: unknown;
  /** JSON pointer. */
  path: string;
  depth: number;
  /** Of this value and those in it. */
  drift: readonly Drift[];
}

function Node({ name, value, path, depth, drift }: NodeProps) {
  const isParent = typeof value === "object" && value !== null;
  const size = isParent ? sizeOf(value) : 0;
  const isOpen = useSignal((depth < openDepth && size <= openMembers) || drift.some((one) => one.path !== path));
  const shown = useSignal(maxMembers);
  const isHidden = useSignal(name !== undefined && isSecretName(name) && typeof value === "string");
  const below = useMemo(() => drift.filter((one) => one.path.startsWith(`${path}/`)), [drift, path]);
  const toggle = set(isOpen, !isOpen.value);
  return (
    <div
      role="treeitem"
      aria-expanded={size > 0 ? isOpen.value : undefined}
      aria-selected="false"
      tabIndex={path === "" ? 0 : -1}
      class="tree-node"
      data-path={path}
      onKeyDown={(event) => {
        if (event.target === event.currentTarget) onTreeKey(event, isParent, isOpen, toggle);
      }}
    >
      <div class="tree-line">
        {size > 0 ? (
          <button type="button" class="fold" tabIndex={-1} aria-hidden="true" onClick={toggle}>
            {isOpen.value ? "▾" : "▸"}
          </button>
        ) : (
          <span class="fold" />
        )}
        {name !== undefined && <bdi class="tree-name">{visibleName(name)}</bdi>}
        {isParent ? (
          <span class="muted">{summaryOf(value, size, isOpen.value)}</span>
        ) : isHidden.value ? (
          <Button kind="quiet" onClick={set(isHidden, false)}>
            •••• show
          </Button>
        ) : (
          <Leaf value={value} />
        )}
        {drift.map(
          ({ path: at, kind, message }) =>
            at === path && (
              <span key={kind} class="badge warn" title={message}>
                ⚠ {kind}
              </span>
            ),
        )}
      </div>
      {isOpen.value && size > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: the group of a tree is not a set of fields
        <div role="group" class="tree-members">
          {membersOf(value as object, shown.value).map(([key, member]) => {
            const inner = extendPointer(path, key);
            const own = below.filter((one) => one.path === inner || one.path.startsWith(`${inner}/`));
            return <Node key={key} name={key} value={member} path={inner} depth={depth + 1} drift={own} />;
          })}
          {below.map(
            ({ path: at, kind, message }) =>
              kind === "stripped" &&
              at.lastIndexOf("/") === path.length && (
                <p key={at} class="tree-line muted">
                  <span class="fold" />
                  <s>{visibleName(at.slice(path.length + 1))}</s>
                  <span class="badge warn" title={message}>
                    ⚠ {kind}
                  </span>
                </p>
              ),
          )}
          <MoreButton shown={shown} step={maxMembers} total={size} noun="" />
        </div>
      )}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  const isWhole = useSignal(false);
  if (typeof value !== "string")
    return <span class={`leaf leaf-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  const isCut = value.length > maxString && !isWhole.value;
  return (
    <>
      <bdi class="leaf leaf-string">"{visibleProse(isCut ? `${value.slice(0, maxString)}…` : value)}"</bdi>
      {isCut && (
        <Button kind="quiet" onClick={set(isWhole, true)}>
          Show all {formatBytes(value.length)}
        </Button>
      )}
    </>
  );
}

/** Arrow keys as in every tree: right opens or enters, left closes or leaves, up and down move. */
function onTreeKey(event: KeyboardEvent, isParent: boolean, isOpen: { value: boolean }, toggle: () => void): void {
  const node = event.currentTarget as HTMLElement;
  const tree = node.closest("[role=tree]")!;
  const all = [...tree.querySelectorAll<HTMLElement>("[role=treeitem]")];
  const at = all.indexOf(node);
  const focus = (next: HTMLElement | null | undefined) => next?.focus();
  const run: Record<string, () => void> = {
    ArrowDown: () => focus(all[at + 1]),
    ArrowUp: () => focus(all[at - 1]),
    ArrowRight: () =>
      isParent && !isOpen.value ? toggle() : focus(node.querySelector<HTMLElement>("[role=treeitem]")),
    ArrowLeft: () =>
      isParent && isOpen.value ? toggle() : focus(node.parentElement!.closest<HTMLElement>("[role=treeitem]")),
    Enter: toggle,
  };
  const action = run[event.key];
  if (action === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

function sizeOf(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function membersOf(value: object, count: number): [string, unknown][] {
  if (Array.isArray(value)) return value.slice(0, count).map((member, at) => [String(at), member]);
  return Object.keys(value)
    .slice(0, count)
    .map((key) => [key, (value as Record<string, unknown>)[key]]);
}

/** The number of members, and what the first ones of an object are while it is folded. */
function summaryOf(value: object, size: number, isOpen: boolean): string {
  if (Array.isArray(value)) return size === 0 ? "[]" : `[${formatCount(size)}]`;
  if (size === 0 || isOpen) return size === 0 ? "{}" : `{${formatCount(size)}}`;
  const members = membersOf(value, maxPreview).map(([key, member]) => {
    const isShort = typeof member === "object" ? member === null : !isSecretName(key);
    const text = isShort ? JSON.stringify(member) : "…";
    return `${visibleName(key)}: ${visibleProse(text.length > 30 ? `${text.slice(0, 30)}…` : text)}`;
  });
  return `{ ${members.join(", ")}${size > maxPreview ? ", …" : ""} }`;
}
