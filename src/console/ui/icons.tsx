import type { SourceKind } from "../app/api.ts";

const paths = {
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zm3.4 7.9 3.1 3.1",
  close: "M3.5 3.5l9 9m0-9l-9 9",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  copy: "M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z",
  check: "M3 8.5l3.2 3.2L13 4.8",
  warn: "M8 2.2l6 11H2zM8 6.5v3.2m0 1.8v.01",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  up: "M4 10l4-4 4 4",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5V5h-2.5",
  stop: "M4 4h8v8H4z",
  play: "M5 3l8 5-8 5z",
  pause: "M5 3v10M11 3v10",
  home: "M2.5 7.5L8 3l5.5 4.5V13h-4V9.5h-3V13h-4z",
  list: "M3 4h10M3 8h10M3 12h10",
  pulse: "M2 8h3l2-5 3 10 2-5h2",
  plug: "M5 2v4m6-4v4M3.5 6h9v2.5a4.5 4.5 0 0 1-9 0zM8 13v2",
  key: "M10 2.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM7.5 8.5L2.5 13.5m2-2l1.5 1.5",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon of 16 pixels. It repeats what a text beside it, or the name of its button, says. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

const kinds = {
  modules: ["ƒ", "local", "function"],
  openapi: ["↗", "http", "HTTP API"],
  mcp: ["◆", "mcp", "MCP tool"],
  nats: ["⇄", "peer", "peer over NATS"],
  redis: ["⇄", "peer", "peer over Redis"],
  websocket: ["⇄", "peer", "peer over a WebSocket"],
} as const satisfies Record<SourceKind, readonly [mark: string, color: string, label: string]>;

/** The mark of the kind of a source: a character and a colour, and a label for those who do not see them. */
export function KindMark({ kind }: { kind: SourceKind | undefined }) {
  const [mark, color, label] = kind === undefined ? (["◇", "hub", "operation of the hub"] as const) : kinds[kind];
  return (
    <span class={`mark mark-${color}`} role="img" aria-label={label} title={label}>
      {mark}
    </span>
  );
}
