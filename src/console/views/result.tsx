import { useSignal } from "@preact/signals";
import type { ResponseEnvelope } from "../../operation/index.ts";
import type { Drift } from "../app/api.ts";
import type { toCallError } from "../app/hub.ts";
import { hrefTo } from "../app/router.ts";
import { Button, CopyButton, Tabs } from "../ui/parts.tsx";
import { adviceFor } from "../ui/states.tsx";
import { countOf, formatBytes, formatDuration, Prose, visibleProse } from "../ui/text.tsx";
import { type ContentBlock, ContentBlocks, save } from "../value/content.tsx";
import { isTable, ValueTable } from "../value/table.tsx";
import { ValueTree } from "../value/tree.tsx";

/** Longer text is not drawn: it can be copied and saved. */
const maxRaw = 200_000;

/** What a call returned. */
export interface CallResult {
  requestId: string;
  /** In ms, as this page measured it. */
  duration: number;
  envelope?: ResponseEnvelope;
  error?: ReturnType<typeof toCallError>;
}

type ResultTab = "data" | "table" | "envelope" | "raw" | "content";

/** The result of a call: its data, and everything that the wire said. */
export function Result({ result, onField }: { result: CallResult; onField(path: string): void }) {
  const tab = useSignal<ResultTab | undefined>(undefined);
  const { requestId, duration, envelope, error } = result;
  const tree = <a href={hrefTo("calls", `r/${requestId}`)}>Show the tree of calls</a>;
  if (error !== undefined) return <Failure result={result} error={error} onField={onField} tree={tree} />;
  const { data, meta } = envelope!;
  const drift = ("drift" in meta ? (meta.drift as Drift[] | undefined) : undefined) ?? [];
  const content = meta.source === "mcp" ? (meta.content as unknown as ContentBlock[]) : undefined;
  const raw = JSON.stringify(data, undefined, 2) ?? "";
  const tabs: [ResultTab, string][] = [
    ["data", "Data"],
    ...(content === undefined ? [] : ([["content", "Content"]] as [ResultTab, string][])),
    ...(isTable(data) ? ([["table", "Table"]] as [ResultTab, string][]) : []),
    ["envelope", "Envelope"],
    ["raw", "Raw"],
  ];
  const hasMedia = content?.some(({ type }) => type !== "text") === true;
  const selected = tab.value ?? (hasMedia ? "content" : "data");
  const isError = meta.source === "mcp" && meta.isError === true;
  return (
    <section class="result" aria-label="Result" data-state={isError ? "error" : "ready"}>
      <p class="result-line">
        <span class={isError ? "bad" : "ok"}>{isError ? "✗ the tool reports an error" : "✓ succeeded"}</span>
        <span class="muted">{formatDuration(duration)}</span>
        {meta.source === "http" && <span class="muted">HTTP {meta.statusCode}</span>}
        {meta.source === "mcp" && <span class="muted">MCP</span>}
        {tree}
      </p>
      <Tabs
        label="Views of the result"
        tabs={tabs}
        selected={selected}
        onSelect={(id) => {
          tab.value = id;
        }}
      />
      {selected === "data" &&
        (data === undefined ? (
          <p class="muted">The operation returned nothing.</p>
        ) : (
          <ValueTree value={data} drift={drift} label="Data of the result" />
        ))}
      {selected === "table" && isTable(data) && <ValueTable rows={data} />}
      {selected === "content" && content !== undefined && <ContentBlocks blocks={content} />}
      {selected === "envelope" && <ValueTree value={envelope} label="Envelope of the result" />}
      {selected === "raw" && (
        <>
          <p>
            <CopyButton text={raw} />
            <Button kind="quiet" onClick={() => save(raw, "result.json")}>
              Save {formatBytes(raw.length)}
            </Button>
          </p>
          {raw.length > maxRaw ? (
            <p class="muted">This is too long to be shown as text. Copy or save it.</p>
          ) : (
            <pre>{visibleProse(raw)}</pre>
          )}
        </>
      )}
      {drift.length > 0 && (
        <p class="warn">
          {countOf(drift.length, "repair")}:{" "}
          {drift.map(({ path, kind }) => `${path === "" ? "the whole result" : path} ${kind}`).join(", ")}. The result
          did not have the shape that the operation declares.
        </p>
      )}
    </section>
  );
}

function Failure(props: {
  result: CallResult;
  error: NonNullable<CallResult["error"]>;
  tree: preact.ComponentChild;
  onField(path: string): void;
}) {
  const { result, error, tree, onField } = props;
  const { code, message, details } = error;
  const issues = (details as { errors?: { path: string; message: string }[] } | undefined)?.errors;
  const isList = code === "VALIDATION_ERROR" && Array.isArray(issues);
  return (
    <section class="result" aria-label="Result" data-state="error">
      <p class="result-line">
        <span class="bad">✗ failed</span>
        <span class="muted">{formatDuration(result.duration)}</span>
        {tree}
      </p>
      <div class="state error" role="alert">
        <p>
          <code>{code}</code> <Prose value={message} />
        </p>
        <p class="advice">{adviceFor(error)}</p>
        {isList && (
          <ul>
            {issues.map(({ path, message: issue }) => (
              <li key={`${path} ${issue}`}>
                <button type="button" class="link" onClick={() => onField(path)}>
                  {path === "" ? "the input" : visibleProse(path)}
                </button>{" "}
                <Prose value={issue} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {details !== undefined && !isList && <ValueTree value={details} label="Details of the error" />}
    </section>
  );
}
