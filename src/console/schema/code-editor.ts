import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Draft } from "./draft.ts";

/** The colours of the page; custom properties reach into the shadow root. */
const theme = EditorView.theme({
  "&": { fontSize: "12.5px", backgroundColor: "var(--surface)", color: "var(--text)", maxHeight: "60vh" },
  ".cm-scroller": { fontFamily: "var(--mono)", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--text3)", border: "none" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--focus)" },
  ".cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--focus) 30%, transparent) !important" },
});

const colors = HighlightStyle.define([
  { tag: tags.string, color: "var(--ok)" },
  { tag: [tags.number, tags.bool], color: "var(--http)" },
  { tag: tags.null, color: "var(--text3)" },
]);

/** Opens an editor of the draft, and returns a function that closes it. Tab leaves it after Escape. */
export function openEditor(host: HTMLElement, draft: Draft, label: string): () => void {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: draft.text.peek(),
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        syntaxHighlighting(colors),
        json(),
        keymap.of([...defaultKeymap, ...historyKeymap].filter(({ key }) => key !== "Mod-Enter")),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.lineWrapping,
        theme,
        EditorView.updateListener.of((update) => {
          if (update.docChanged) draft.write(update.state.doc.toString());
        }),
      ],
    }),
  });
  // The form changes the text as well.
  const stop = draft.text.subscribe((text) => {
    const current = view.state.doc.toString();
    if (text !== current) view.dispatch({ changes: { from: 0, to: current.length, insert: text } });
  });
  return () => {
    stop();
    view.destroy();
  };
}
