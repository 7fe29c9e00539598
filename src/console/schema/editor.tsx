import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Draft } from "./draft.ts";

/** Longer text stays in the plain field. */
const maxEditorLength = 1_000_000;

/**
 * The draft as JSON text. A plain field works immediately; where the pointer is fine, an editor with colours, brackets and
 * undo replaces it when its chunk has arrived. It lives in a shadow root, because the policy of the page allows no other
 * styles than its own.
 */
export function Editor({ draft, label }: { draft: Draft; label: string }) {
  const host = useRef<HTMLDivElement>(null);
  const isReady = useSignal(false);
  useEffect(() => {
    if (!matchMedia("(pointer: fine)").matches || draft.text.peek().length > maxEditorLength) return;
    let isGone = false;
    let close = () => {};
    import("./code-editor.ts").then(
      ({ openEditor }) => {
        if (isGone) return;
        isReady.value = true;
        close = openEditor(host.current!, draft, label);
      },
      () => {},
    ); // The plain field stays.
    return () => {
      isGone = true;
      close();
    };
  }, [draft, label, isReady]);
  const { problem } = draft;
  return (
    <div class="editor">
      <div ref={host} hidden={!isReady.value} class="code-editor" />
      {!isReady.value && (
        <textarea
          aria-label={label}
          aria-invalid={problem.value !== undefined}
          rows={12}
          spellcheck={false}
          value={draft.text.value}
          onInput={(event) => draft.write(event.currentTarget.value)}
        />
      )}
      {problem.value !== undefined && (
        <p class="bad" role="alert">
          This is not JSON: {problem.value}
        </p>
      )}
    </div>
  );
}
