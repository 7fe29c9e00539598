import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { subscribe, toCallError } from "../app/hub.ts";
import { Button } from "../ui/parts.tsx";
import { Plot } from "../ui/plot.tsx";
import { set } from "../ui/set.ts";
import { ErrorPanel } from "../ui/states.tsx";
import { countOf, formatTime, visibleProse } from "../ui/text.tsx";
import { ValueTree } from "../value/tree.tsx";

interface Value {
  seq: number;
  at: number;
  value: unknown;
}

const maxValues = 1_000;
const maxPoints = 120;
const showEveryMs = 250;
/** Leaving after this time asks first. */
const longMs = 60_000;

/** A subscription: its values as they arrive, the newest first. */
export function Stream({ id, input, isBlocked }: { id: string; input: unknown; isBlocked: boolean }) {
  const state = useSignal<"idle" | "running" | "ended">("idle");
  const isPaused = useSignal(false);
  const values = useSignal<readonly Value[]>([]);
  const total = useSignal(0);
  const selected = useSignal<number | undefined>(undefined);
  const error = useSignal<ReturnType<typeof toCallError> | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const start = async () => {
    const controller = new AbortController();
    running.current = controller;
    const startedAt = Date.now();
    const askFirst = (event: BeforeUnloadEvent) => {
      if (Date.now() - startedAt > longMs) event.preventDefault();
    };
    addEventListener("beforeunload", askFirst);
    state.value = "running";
    error.value = undefined;
    total.value = 0;
    values.value = [];
    const ring: Value[] = [];
    let isChanged = false;
    const show = () => {
      if (!isChanged || isPaused.peek()) return;
      isChanged = false;
      values.value = ring.slice().reverse();
    };
    const timer = setInterval(show, showEveryMs);
    try {
      for await (const value of subscribe<unknown>(id, input, { signal: controller.signal })) {
        ring.push({ seq: total.peek(), at: Date.now(), value });
        total.value += 1;
        if (ring.length > maxValues) ring.shift();
        isChanged = true;
      }
    } catch (thrown) {
      if (!controller.signal.aborted) error.value = toCallError(thrown);
    } finally {
      clearInterval(timer);
      removeEventListener("beforeunload", askFirst);
      isPaused.value = false;
      show();
      state.value = "ended";
    }
  };
  const numbers = values.value.slice(0, maxPoints).reverse();
  const isNumeric = numbers.length > 1 && numbers.every(({ value }) => typeof value === "number");
  const shown = values.value.find(({ seq }) => seq === selected.value) ?? values.value[0];
  return (
    <section class="result" aria-label="Values" data-state={state.value}>
      <p class="result-line">
        {state.value === "running" ? (
          <>
            <Button icon="stop" onClick={() => running.current?.abort()}>
              Stop
            </Button>
            <Button icon={isPaused.value ? "play" : "pause"} onClick={set(isPaused, !isPaused.value)}>
              {isPaused.value ? "Continue" : "Pause"}
            </Button>
          </>
        ) : (
          <Button icon="play" kind="primary" disabled={isBlocked} onClick={() => void start()}>
            {state.value === "idle" ? "Start" : "Start again"}
          </Button>
        )}
        <span data-count={total.value}>{countOf(total.value, "value")}</span>
        {state.value === "ended" && error.value === undefined && <span class="muted">ended</span>}
        {total.value > maxValues && <span class="muted">the newest {maxValues} are kept</span>}
      </p>
      {error.value !== undefined && <ErrorPanel error={error.value} />}
      {isNumeric && (
        <Plot
          label="values"
          at={numbers.map(({ at }) => at)}
          series={[{ name: "value", kind: "value", values: numbers.map(({ value }) => value as number) }]}
        />
      )}
      <ol class="stream" reversed>
        {values.value.slice(0, 100).map(({ seq, at, value }) => (
          <li key={seq}>
            <button type="button" class={shown?.seq === seq ? "row selected" : "row"} onClick={set(selected, seq)}>
              <span class="muted mono">{formatTime(at)}</span>
              <span class="muted mono">{seq}</span>
              <span class="cell-text mono">{visibleProse((JSON.stringify(value) ?? "").slice(0, 300))}</span>
            </button>
          </li>
        ))}
      </ol>
      {shown !== undefined && <ValueTree key={shown.seq} value={shown.value} label={`Value ${shown.seq}`} />}
    </section>
  );
}
