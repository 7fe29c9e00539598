/** Characters that change how the text around them looks, or that cannot be seen: controls, format, private use, separators. */
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;
/** In prose, line ends and tabs stay, and so do the joiners and selectors of scripts and emoji. */
const invisibleInProse =
  /(?!\n|\t|\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

const showCode = (character: string) => `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Returns a foreign name with every invisible character spelled out, so that two names that differ look different. */
export function visibleName(name: string): string {
  return name.replace(invisible, showCode);
}

/** Returns foreign prose with the characters spelled out that could hide or reorder parts of it. */
export function visibleProse(prose: string): string {
  return prose.replace(invisibleInProse, showCode);
}

/** A name that the page did not choose: of an operation, a source, a caller, a property. */
export function Name({ value }: { value: string }) {
  return <bdi class="name">{visibleName(value)}</bdi>;
}

/** A sentence that the page did not write: a description, a message, a reason. */
export function Prose({ value, max = 2_000 }: { value: string; max?: number }) {
  const cut = value.length > max ? `${value.slice(0, max)}…` : value;
  return <bdi class="prose">{visibleProse(cut)}</bdi>;
}

/** An id, with a place to break after its namespace. */
export function OperationName({ id }: { id: string }) {
  const dot = id.indexOf(".");
  if (dot === -1) return <Name value={id} />;
  return (
    <bdi class="name">
      <span class="namespace">{visibleName(id.slice(0, dot + 1))}</span>
      <wbr />
      {visibleName(id.slice(dot + 1))}
    </bdi>
  );
}

/** Formats a duration: `412 ms`, `3.2 s`, `2 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1) return "< 1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a time of today as `13:32:29.478`, and an earlier one with its date. */
export function formatTime(at: number, { millis = true } = {}): string {
  const date = new Date(at);
  const pad = (part: number, length = 2) => String(part).padStart(length, "0");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => pad(part)).join(":");
  const exact = millis ? `${time}.${pad(date.getMilliseconds(), 3)}` : time;
  if (date.toDateString() === new Date().toDateString()) return exact;
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${exact}`;
}

/** Formats a number with separators of thousands. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** Formats a size in bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Returns a number and its noun: `1 call`, `2 calls`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}
