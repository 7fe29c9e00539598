import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { isSecretName } from "../../internal/secrets.ts";
import type { Drift } from "../app/api.ts";
import { Button } from "../ui/parts.tsx";
import { set } from "../ui/set.ts";
import { formatBytes, formatCount, visibleName, visibleProse } from "../ui/text.tsx";

/** Members that are drawn at once; a button draws the next ones. */
const maxMembers = 200;
/** Characters of a string that are drawn; a button draws all. */
const maxString = 2_000;
/** Levels and members that are open at the start. */
const openDepth = 2;
const openMembers = 40;

/** A JSON value as a tree that draws only what is open. Repairs of the value stand at their place. */
export function ValueTree({ value, drift = [], label }: { value: unknown; drift?: readonly Drift[]; label: string }) {
  const byPath = useMemo(() => groupDrift(drift), [drift]);
  return (
    <div class="tree" role="tree" aria-label={label}>
      <Node name={undefined} value={value} path="" depth={0} drift={byPath} />
    </div>
  );
}

interface NodeProps {
  name: string | undefined;
  value: unknown;
  /** JSON pointer. */
  path: string;
  depth: number;
  drift: ReadonlyMap<string, readonly Drift[]>;
}

function Node({ name, value, path, depth, drift }: NodeProps) {
  const isParent = typeof value === "object" && value !== null;
  const size = isParent ? sizeOf(value) : 0;
  const isOpen = useSignal(depth < openDepth && size <= openMembers);
  const shown = useSignal(maxMembers);
  const isHidden = useSignal(name !== undefined && isSecretName(name) && typeof value === "string");
  const repairs = drift.get(path);
  const toggle = set(isOpen, !isOpen.value);
  return (
    <div
      role="treeitem"
      aria-expanded={isParent && size > 0 ? isOpen.value : undefined}
      aria-selected="false"
      tabIndex={path === "" ? 0 : -1}
      class="tree-node"
      data-path={path}
      onKeyDown={(event) => {
        if (event.target === event.currentTarget) onTreeKey(event, isParent, isOpen, toggle);
      }}
    >
      <div class="tree-line">
        {isParent && size > 0 ? (
          <button type="button" class="fold" tabIndex={-1} aria-hidden="true" onClick={toggle}>
            {isOpen.value ? "▾" : "▸"}
          </button>
        ) : (
          <span class="fold" />
        )}
        {name !== undefined && <bdi class="tree-name">{visibleName(name)}</bdi>}
        {isParent ? (
          <span class="muted">{summaryOf(value, size)}</span>
        ) : isHidden.value ? (
          <Button kind="quiet" onClick={set(isHidden, false)}>
            •••• show
          </Button>
        ) : (
          <Leaf value={value} />
        )}
        {repairs?.map(({ kind, message }) => (
          <span key={kind} class="badge warn" title={message}>
            ⚠ {kind}
          </span>
        ))}
      </div>
      {isParent && isOpen.value && size > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: the group of a tree is not a set of fields
        <div role="group" class="tree-members">
          {membersOf(value, shown.value).map(([key, member]) => (
            <Node
              key={key}
              name={key}
              value={member}
              path={`${path}/${escapePointer(key)}`}
              depth={depth + 1}
              drift={drift}
            />
          ))}
          {size > shown.value && (
            <Button
              kind="quiet"
              onClick={() => {
                shown.value += maxMembers;
              }}
            >
              Show {formatCount(Math.min(maxMembers, size - shown.value))} more of {formatCount(size)}
            </Button>
          )}
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

function summaryOf(value: object, size: number): string {
  if (Array.isArray(value)) return size === 0 ? "[]" : `[${formatCount(size)}]`;
  return size === 0 ? "{}" : `{${formatCount(size)}}`;
}

function groupDrift(drift: readonly Drift[]): Map<string, Drift[]> {
  const groups = new Map<string, Drift[]>();
  for (const one of drift) groups.set(one.path, [...(groups.get(one.path) ?? []), one]);
  return groups;
}

function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
