import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { createExample, openForm } from "../../contract/index.ts";
import { copy } from "../app/announce.ts";
import type { CheckResult, OperationDetails } from "../app/api.ts";
import { ask, callOperation, toCallError } from "../app/hub.ts";
import { hrefWithInput, readInput } from "../app/input-link.ts";
import { bindKeys } from "../app/keys.ts";
import { debounced, useQuery } from "../app/query.ts";
import { hrefTo, route, setParams } from "../app/router.ts";
import { type Draft, openDraft } from "../schema/draft.ts";
import { Form } from "../schema/form.tsx";
import { lazy } from "../ui/lazy.tsx";
import { Button, KeyHint, Menu, Tabs } from "../ui/parts.tsx";
import { countOf, formatDuration } from "../ui/text.tsx";
import { AccessPanel } from "./access.tsx";
import { type CallResult, Issues, Result } from "./result.tsx";
import { snippetNames, toSnippet } from "./snippets.ts";
import { Stream } from "./stream.tsx";

const Editor = lazy<{ draft: Draft; label: string }>(async () => (await import("../schema/editor.tsx")).default);

const checkAfterMs = 150;
const timeouts = { "5 s": 5_000, "30 s": 30_000, "2 min": 120_000 } as const;

/** The input of an operation, as a form and as JSON, and what became of sending it. */
export function Try({ id, operation }: { id: string; operation: OperationDetails }) {
  const { type, inputSchema } = operation;
  const draft = useMemo(() => openDraft(id, initialInput(inputSchema)), [id, inputSchema]);
  // A link fills in the draft. Then it has done its work: what is changed afterwards must not be lost.
  const linked = route.value.params.get("input");
  useLayoutEffect(() => {
    if (linked === null) return;
    const given = readInput(linked);
    if (given !== undefined) draft.set(given.input);
    setParams({ input: "" });
  }, [draft, linked]);
  const root = useMemo(() => openForm(inputSchema), [inputSchema]);
  const mode = useSignal<"form" | "json">("form");
  const typed = useMemo(() => debounced(draft.value, checkAfterMs), [draft]);
  const [check] = useQuery((abort) => ask<CheckResult>("check", { id, input: typed.value }, abort));
  const byPointer = new Map<string, string[]>();
  for (const { path, message } of check.data?.errors ?? [])
    byPointer.set(path, [...(byPointer.get(path) ?? []), message]);
  const sending = useSending(id, operation, draft);
  const focusField = (pointer: string) => {
    mode.value = "form";
    requestAnimationFrame(() => {
      const field = document.querySelector<HTMLElement>(`[data-field="${CSS.escape(pointer)}"]`);
      field?.scrollIntoView({ block: "center" });
      field?.querySelector<HTMLElement>("input, select, textarea, button")?.focus();
    });
  };
  const isDenied = check.data?.steps.some(({ step, outcome }) => step !== "validate" && outcome === "failed") === true;
  const snippets = snippetNames.map(([kind, name]) => {
    const url = new URL("../", document.baseURI).href.replace(/\/$/, "");
    const run = () =>
      copy(toSnippet(kind, { url, id, type, input: draft.value.peek(), tool: operation.tool?.name }), name);
    return [`Copy as ${name}`, run] as const;
  });
  const copyLink = () => copy(new URL(hrefWithInput(id, draft.value.peek()), location.href).href, "Link");
  return (
    <div class="try">
      <section class="try-input" aria-label="Input">
        <header class="try-head">
          <Tabs
            label="Views of the input"
            selected={mode.value}
            onSelect={(next) => {
              mode.value = next;
            }}
            tabs={[
              ["form", "Form"],
              ["json", "JSON"],
            ]}
          />
          <Button kind="quiet" onClick={() => draft.set(createExample(inputSchema))}>
            Example
          </Button>
          <Menu label="Copy as" items={[...snippets, ["Copy link", copyLink]]}>
            Copy as
          </Menu>
        </header>
        {mode.value === "form" ? (
          <Form root={root} draft={draft} issues={byPointer} isLocked={draft.problem.value !== undefined} />
        ) : (
          <Editor draft={draft} label="Input as JSON" />
        )}
        <CheckLine
          check={check}
          isStale={check.state === "loading" || typed.value !== draft.value.value}
          onField={focusField}
        />
        {type !== "subscription" && (
          <SendBar sending={sending} type={type} isBlocked={draft.problem.value !== undefined} />
        )}
      </section>
      <div class="try-result">
        {isDenied && <AccessPanel id={id} input={typed.value} />}
        {type === "subscription" ? (
          <Stream id={id} input={draft.value.value} isBlocked={draft.problem.value !== undefined} />
        ) : (
          <>
            {sending.result.value !== undefined && (
              <Result
                key={sending.result.value.requestId}
                result={sending.result.value}
                type={type}
                onField={focusField}
              />
            )}
            {sending.result.value === undefined && !sending.isRunning.value && (
              <p class="placeholder">The result appears here.</p>
            )}
          </>
        )}
      </div>
    </div>
  );
}

/** Whether the hub would accept the input, said by the hub itself. */
function CheckLine(props: {
  check: ReturnType<typeof useQuery<CheckResult>>[0];
  /** Whether the input has changed since. */
  isStale: boolean;
  onField(pointer: string): void;
}) {
  const { isStale, onField } = props;
  const { data, error } = props.check;
  if (data === undefined)
    return (
      <p class="check-line muted">
        {error === undefined ? "checking…" : `The input could not be checked: ${error.message}`}
      </p>
    );
  const { steps, errors } = data;
  const failed = steps.filter(({ outcome }) => outcome === "failed");
  const unknown = steps.filter(({ outcome }) => outcome === "unknown");
  return (
    <div class="check-line" role="status" data-state={isStale ? "checking" : failed.length === 0 ? "valid" : "invalid"}>
      {failed.length === 0 && <span class="ok">✓ valid · you may call it</span>}
      {errors.length > 0 && (
        <>
          <span class="bad">✗ {countOf(errors.length, "problem")}</span>
          <Issues issues={errors.slice(0, 5)} onField={onField} />
        </>
      )}
      {failed.length > 0 && errors.length === 0 && <span class="bad">✗ you may not call it</span>}
      {unknown.map(({ step, reason }) => (
        <span key={step} class="muted">
          {" "}
          · {step}: {reason ?? "decided by the call"}
        </span>
      ))}
    </div>
  );
}

function SendBar({ sending, type, isBlocked }: { sending: Sending; type: string; isBlocked: boolean }) {
  const { isRunning, needsConfirmation, timeout, result, send, cancel } = sending;
  const again = type === "mutation" && result.value?.error?.mayHaveRun === true;
  return (
    <div class="send-bar">
      {isRunning.value ? (
        <Button icon="stop" kind="danger" onClick={cancel}>
          Cancel
        </Button>
      ) : (
        <Button kind="primary" disabled={isBlocked} onClick={() => send(needsConfirmation.value)}>
          {again ? "Send again anyway" : needsConfirmation.value ? "Send it again" : "Send"}
        </Button>
      )}
      <KeyHint name={isRunning.value ? "Escape" : "Mod+Enter"} />
      {needsConfirmation.value && (
        <span class="warn">The same input was sent before, and this operation changes something.</span>
      )}
      <label class="muted stop-after">
        stop after{" "}
        <select
          value={timeout.value}
          onChange={(event) => {
            timeout.value = event.currentTarget.value as keyof typeof timeouts;
          }}
        >
          {Object.keys(timeouts).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {isRunning.value && (
        <a href={hrefTo("calls", `r/${sending.requestId.value}`)} class="muted">
          running {formatDuration(sending.elapsed.value)} · show the tree
        </a>
      )}
    </div>
  );
}

type Sending = ReturnType<typeof useSending>;

/** Sends the draft. A mutation that is not idempotent asks before the same input is sent again. */
function useSending(id: string, { type, idempotent }: OperationDetails, draft: Draft) {
  const isRunning = useSignal(false);
  const needsConfirmation = useSignal(false);
  const result = useSignal<CallResult | undefined>(undefined);
  const requestId = useSignal("");
  const elapsed = useSignal(0);
  const timeout = useSignal<keyof typeof timeouts>("30 s");
  const sent = useRef<string | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  useSignalEffect(() => {
    if (sent.current !== JSON.stringify(draft.value.value)) needsConfirmation.value = false;
  });
  const cancel = () => running.current?.abort();
  const send = async (isConfirmed = false) => {
    if (isRunning.peek() || draft.problem.peek() !== undefined) return;
    const input = draft.value.peek();
    const text = JSON.stringify(input) ?? "";
    if (type === "mutation" && idempotent !== true && sent.current === text && !isConfirmed) {
      needsConfirmation.value = true;
      return;
    }
    sent.current = text;
    needsConfirmation.value = false;
    const controller = new AbortController();
    running.current = controller;
    isRunning.value = true;
    requestId.value = crypto.randomUUID();
    const startedAt = performance.now();
    const timer = setInterval(() => {
      elapsed.value = performance.now() - startedAt;
    }, 250);
    const finish = (outcome: Pick<CallResult, "envelope" | "error">) => {
      result.value = { requestId: requestId.peek(), duration: performance.now() - startedAt, ...outcome };
    };
    try {
      const options = { requestId: requestId.peek(), signal: controller.signal, timeout: timeouts[timeout.peek()] };
      finish({ envelope: await callOperation(id, input, options) });
    } catch (error) {
      finish({ error: toCallError(error) });
    } finally {
      clearInterval(timer);
      isRunning.value = false;
      elapsed.value = 0;
    }
  };
  useEffect(
    () =>
      bindKeys([
        { key: "Mod+Enter", does: "Send", run: () => void send(needsConfirmation.peek()) },
        { key: "Escape", does: "Cancel the call", run: cancel },
      ]),
    [],
  );
  return { isRunning, needsConfirmation, result, requestId, elapsed, timeout, send, cancel };
}

/** Nothing for an operation that takes no input, else an empty object or nothing set. */
function initialInput(schema: unknown): unknown {
  const { type, properties } = (typeof schema === "object" && schema !== null ? schema : {}) as {
    type?: unknown;
    properties?: unknown;
  };
  return type === "object" || properties !== undefined ? {} : undefined;
}
