import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { liveCalls } from "../app/activity.ts";
import { idOf, type OperationList, type SourceKind, type SourceState } from "../app/api.ts";
import { ask } from "../app/hub.ts";
import { keysOpen, paletteOpen } from "../app/keys.ts";
import { change, preferences } from "../app/preferences.ts";
import { debounced, useQuery } from "../app/query.ts";
import { go, hrefTo } from "../app/router.ts";
import { signOut } from "../app/session.ts";
import { KindMark } from "./icons.tsx";
import { Dialog } from "./parts.tsx";
import { set } from "./set.ts";
import { formatDuration, Name, OperationName, visibleProse } from "./text.tsx";

interface Entry {
  id: string;
  group: "Operations" | "Calls" | "Sources" | "Views" | "Actions";
  text: string;
  note?: string;
  kind?: SourceKind;
  href?: string;
  run?(): void;
}

const maxEach = 8;
const views = [
  ["", "Overview"],
  ["operations", "Operations"],
  ["calls", "Calls"],
  ["sources", "Sources"],
  ["access", "Access"],
] as const;

/** One field that finds operations, recent calls, sources, views and actions. A query that starts with `>` finds actions only. */
export function Palette() {
  const text = useSignal("");
  const typed = useMemo(() => debounced(text, 60), [text]);
  const at = useSignal(0);
  const [found] = useQuery(async (abort) => {
    const query = typed.value;
    if (query.startsWith(">")) return { query, operations: [] };
    const { operations } = await ask<OperationList>("operations", { query, limit: maxEach, brief: true }, abort);
    return { query, operations };
  });
  const [sources] = useQuery((abort) => ask<SourceState[]>("sources", {}, abort).catch(() => []));
  const entries = listEntries(text.value, found.data, sources.data ?? []);
  const close = set(paletteOpen, false);
  const choose = (entry: Entry | undefined, inNewTab = false) => {
    if (entry === undefined) return;
    close();
    if (entry.href === undefined) entry.run!();
    else if (inNewTab) open(entry.href, "_blank");
    else go(entry.href);
  };
  // Enter means the best match for what was typed, also if the hub has not answered yet.
  const hasFailed = found.state === "error" || found.state === "denied";
  const isStale = !hasFailed && found.data?.query !== text.value;
  const isChosen = useSignal(false);
  useEffect(() => {
    if (isChosen.value && !isStale) choose(entries[0]);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      at.value = (at.value + step + entries.length) % Math.max(1, entries.length);
      document.getElementById(`palette-${at.value}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (isStale && at.value === 0) isChosen.value = true;
      else choose(entries[at.value], event.metaKey || event.ctrlKey);
    }
  };
  return (
    <Dialog title="Search" onClose={close}>
      <input
        autofocus
        class="palette-input"
        role="combobox"
        aria-label="Search operations, calls, sources, views and actions"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries.length > 0 ? `palette-${at.value}` : undefined}
        placeholder="An operation, a call, a source… or > for actions"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
          isChosen.value = false;
        }}
        onKeyDown={onKeyDown}
      />
      <div class="palette-list" id="palette-list" role="listbox" aria-label="Results">
        {entries.map((entry, index) => (
          <div
            key={entry.id}
            id={`palette-${index}`}
            class={index === at.value ? "palette-entry selected" : "palette-entry"}
            role="option"
            tabIndex={-1}
            aria-selected={index === at.value}
            onPointerMove={set(at, index)}
            onPointerDown={(event) => {
              event.preventDefault();
              choose(entry, event.metaKey || event.ctrlKey);
            }}
          >
            {entry.group === "Operations" ? (
              <KindMark kind={entry.kind} />
            ) : (
              <span class="mark" aria-hidden="true">
                ·
              </span>
            )}
            {entry.group === "Operations" || entry.group === "Calls" ? (
              <OperationName id={entry.text} />
            ) : (
              <Name value={entry.text} />
            )}
            <span class="palette-note">{entry.note}</span>
            <span class="palette-group">{entry.group}</span>
          </div>
        ))}
        {entries.length === 0 && found.state !== "loading" && <p class="palette-none">Nothing matches.</p>}
      </div>
    </Dialog>
  );
}

function listEntries(
  text: string,
  found: Pick<OperationList, "operations"> | undefined,
  sources: readonly SourceState[],
): Entry[] {
  const isAction = text.startsWith(">");
  const words = text.replace(/^>\s*/, "").toLowerCase();
  const matches = ({ text: name }: Entry) => name.toLowerCase().includes(words);
  const actions = listActions().filter(matches);
  if (isAction) return actions;
  const used = words === "" ? preferences.value.used : [];
  const operations = (found?.operations ?? []).map((operation): Entry => {
    const id = idOf(operation);
    const note = visibleProse(operation.description.split("\n", 1)[0]!.slice(0, 80));
    return { id: `o ${id}`, group: "Operations", text: id, note, kind: operation.kind, href: hrefTo("operations", id) };
  });
  operations.sort((one, other) => rankOf(used, one.text) - rankOf(used, other.text));
  const calls = liveCalls.value.slice(0, 500).map(
    (call): Entry => ({
      id: `c ${call.requestId} ${call.startedAt}`,
      group: "Calls",
      text: call.operationId,
      note: call.duration === undefined ? "running" : `${formatDuration(call.duration)} ${call.code ?? ""}`,
      href: call.id === undefined ? hrefTo("calls", `r/${call.requestId}`) : hrefTo("calls", String(call.id)),
    }),
  );
  const others = [
    ...calls.filter(matches).slice(0, words === "" ? 3 : maxEach),
    ...sources.map(
      ({ name, status }): Entry => ({
        id: `s ${name}`,
        group: "Sources",
        text: name,
        note: status,
        href: hrefTo("sources", name),
      }),
    ),
    ...views.map(([view, name]): Entry => ({ id: `v ${view}`, group: "Views", text: name, href: hrefTo(view) })),
  ];
  return [...operations, ...others.filter(matches), ...(words === "" ? [] : actions)];
}

function listActions(): Entry[] {
  const action = (text: string, run: () => void): Entry => ({ id: `a ${text}`, group: "Actions", text, run });
  return [
    action("Use the light theme", () => change({ theme: "light" })),
    action("Use the dark theme", () => change({ theme: "dark" })),
    action("Use the theme of the system", () => change({ theme: "system" })),
    action("Show the keys", set(keysOpen, true)),
    action("Sign out", () => void signOut()),
  ];
}

function rankOf(used: readonly string[], id: string): number {
  const rank = used.indexOf(id);
  return rank === -1 ? used.length : rank;
}
