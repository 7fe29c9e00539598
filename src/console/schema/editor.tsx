import type { ComponentChildren } from "preact";
import type { Draft } from "./draft.ts";

/** Longer text has no colours. */
const maxColored = 50_000;
/** Strings and whether they are names, words, and numbers. */
const tokens = /("(?:[^"\\\n]|\\.)*"?)(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

/** The draft as JSON text: a text field that lies over a copy of its text, which has the colours. */
export default function Editor({ draft, label }: { draft: Draft; label: string }) {
  const { text, problem } = draft;
  return (
    <div class="editor">
      <div class="code">
        <pre aria-hidden="true">
          {text.value.length > maxColored ? text.value : toColors(text.value)}
          {"\n"}
        </pre>
        <textarea
          aria-label={label}
          aria-invalid={problem.value !== undefined}
          spellcheck={false}
          autocomplete="off"
          value={text.value}
          onInput={(event) => draft.write(event.currentTarget.value)}
          onKeyDown={indent}
        />
      </div>
      {problem.value !== undefined && (
        <p class="bad" role="alert">
          This is not JSON: {problem.value}
        </p>
      )}
    </div>
  );
}

/** Starts a line as deep as the one before, and deeper after a bracket. */
function indent(event: KeyboardEvent): void {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) return;
  const { value, selectionStart } = event.currentTarget as HTMLTextAreaElement;
  const before = value.slice(0, selectionStart);
  const [start = ""] = /^ */.exec(before.slice(before.lastIndexOf("\n") + 1)) ?? [];
  event.preventDefault();
  // The only way that the browser can undo.
  document.execCommand("insertText", false, `\n${start}${/[{[]\s*$/.test(before) ? "  " : ""}`);
}

function toColors(text: string): ComponentChildren[] {
  let end = 0;
  const parts = [...text.matchAll(tokens)].flatMap(({ 0: token, 1: string, 2: colon, index }) => {
    const gap = text.slice(end, index);
    end = index + token.length;
    const kind = string === undefined ? "number" : colon === undefined ? "string" : "name";
    return [gap, <span class={`leaf-${token === "null" ? "null" : kind}`}>{token}</span>];
  });
  return [...parts, text.slice(end)];
}
