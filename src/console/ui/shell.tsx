import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { live, rate } from "../app/activity.ts";
import { announce, announcement } from "../app/announce.ts";
import { status } from "../app/hub.ts";
import { bindKeys, keysOpen, paletteOpen } from "../app/keys.ts";
import { change, preferences } from "../app/preferences.ts";
import { currentView, hrefTo, route } from "../app/router.ts";
import { currentSession, signOut } from "../app/session.ts";
import { Icon, type IconName } from "./icons.tsx";
import { KeySheet } from "./key-sheet.tsx";
import { Palette } from "./palette.tsx";
import { Button, KeyHint, Menu } from "./parts.tsx";
import { set } from "./set.ts";
import { formatCount, formatTime, Name } from "./text.tsx";

/** The views of the rail, in its order. */
const places: readonly (readonly [view: string, name: string, icon: IconName])[] = [
  ["", "Overview", "home"],
  ["operations", "Operations", "list"],
  ["calls", "Calls", "pulse"],
  ["sources", "Sources", "plug"],
  ["access", "Access", "key"],
];

/** A person is warned so long before the session ends. */
const warnBeforeMs = 120_000;

/** The frame of every view: header, rail, and the view in `main`, which takes the focus when the view changes. */
export function Shell({ title, children }: { title: string; children: ComponentChildren }) {
  const main = useRef<HTMLElement>(null);
  const view = currentView.value;
  const place = useComputed(() => `${route.value.view}/${route.value.rest}`).value;
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · ${status.value?.hub.url ?? "operations"}`;
  }, [title]);
  const expiresAt = currentSession()?.expiresAt;
  useEffect(() => {
    if (expiresAt === undefined) return;
    const warn = () => announce("Your session ends in two minutes. What you have typed stays.", { isLasting: true });
    const timer = setTimeout(warn, Math.max(0, expiresAt - Date.now() - warnBeforeMs));
    return () => clearTimeout(timer);
  }, [expiresAt]);
  useEffect(() => {
    paletteOpen.value = false;
    if (isFirst.current) isFirst.current = false;
    else main.current!.focus({ preventScroll: true });
  }, [place]);
  useEffect(() => {
    const focusSearch = () => document.querySelector<HTMLElement>("main [data-focus=search]")?.focus();
    return bindKeys([{ key: "/", does: "Search in this view", run: focusSearch }]);
  }, []);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current!.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href={hrefTo("")}>
          <span aria-hidden="true">◇</span> <b>operations</b>
        </a>
        <button type="button" class="palette-button" onClick={set(paletteOpen, true)}>
          <Icon name="search" />
          <span>Search operations, calls, sources…</span>
          <KeyHint name="Mod+k" />
        </button>
        <LiveBadge />
        <Person />
      </header>
      <nav class="rail" aria-label="Views">
        {places.map(([id, name, icon]) => (
          <a key={id} href={hrefTo(id)} aria-current={view === id ? "page" : undefined}>
            <Icon name={icon} />
            <span>{name}</span>
          </a>
        ))}
      </nav>
      <main id="main" ref={main} tabIndex={-1} data-view={view === "" ? "overview" : view}>
        {children}
      </main>
      <p class={announcement.value === "" ? "toast empty" : "toast"} role="status">
        {announcement.value}
      </p>
      {paletteOpen.value && <Palette />}
      {keysOpen.value && <KeySheet />}
    </div>
  );
}

/** Whether the page follows the calls of the hub, and how many there are. */
function LiveBadge() {
  const state = live.value;
  if (state.kind === "off") return null;
  const { calls, failed } = rate.value;
  const text = {
    connecting: "connecting",
    live: `${formatCount(calls)}/s`,
    hidden: "paused",
    stopped: "not live",
  }[state.kind];
  return (
    <a class={`live live-${state.kind}`} href={hrefTo("calls")} data-state={state.kind}>
      <i aria-hidden="true" />
      {text}
      {failed > 0 && <span class="bad">{formatCount(failed)} failed</span>}
    </a>
  );
}

function Person() {
  const session = currentSession();
  if (session === undefined) return null;
  const { theme } = preferences.value;
  const next = { system: "light", light: "dark", dark: "system" } as const;
  return (
    <div class="person">
      <Button kind="quiet" label={`Theme: ${theme}. Change it`} onClick={() => change({ theme: next[theme] })}>
        <span aria-hidden="true">{{ system: "◐", light: "○", dark: "●" }[theme]}</span>
      </Button>
      <Menu
        label={`Signed in as ${session.identity.id}`}
        items={[
          ["Keys", set(keysOpen, true)],
          [`Session ends ${formatTime(session.expiresAt, { millis: false })}`, () => {}],
          ["Sign out", () => void signOut()],
        ]}
      >
        <Name value={session.identity.id} />
      </Menu>
    </div>
  );
}
