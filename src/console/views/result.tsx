import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Drift, OperationType, ResponseEnvelope } from "../../operation/index.ts";
import type { toCallError } from "../app/hub.ts";
import { hrefTo } from "../app/router.ts";
import { Button, CopyButton, Tabs } from "../ui/parts.tsx";
import { ErrorPanel } from "../ui/states.tsx";
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

interface ResultProps {
  result: CallResult;
  /** Type of the operation. */
  type: OperationType;
  /** Goes to the field of the input with this path. */
  onField(path: string): void;
}

const tabNames = { data: "Data", content: "Content", table: "Table", envelope: "Envelope", raw: "Raw" } as const;
type ResultTab = keyof typeof tabNames;

/** The result of a call: its data, and everything that the wire said. */
export function Result({ result, type, onField }: ResultProps) {
  const { requestId, duration, envelope, error } = result;
  const isError = envelope?.meta.source === "mcp" && envelope.meta.isError === true;
  const outcome = error !== undefined ? "✗ failed" : isError ? "✗ the tool reports an error" : "✓ succeeded";
  const hasFailed = error !== undefined || isError;
  return (
    <section class="result" aria-label="Result" data-state={hasFailed ? "error" : "ready"}>
      <p class="result-line">
        <b class={hasFailed ? "bad" : "ok"}>{outcome}</b>
        <span class="muted">{formatDuration(duration)}</span>
        {envelope?.meta.source === "http" && <span class="muted">HTTP {envelope.meta.statusCode}</span>}
        {envelope?.meta.source === "mcp" && <span class="muted">MCP</span>}
        <a href={hrefTo("calls", `r/${requestId}`)}>Show the tree of calls</a>
      </p>
      {error !== undefined && <Failure error={error} type={type} onField={onField} />}
      {envelope !== undefined && <Success envelope={envelope} />}
    </section>
  );
}

function Success({ envelope }: { envelope: ResponseEnvelope }) {
  const { data, meta } = envelope;
  const tab = useSignal<ResultTab | undefined>(undefined);
  const drift = ("drift" in meta ? (meta.drift as Drift[] | undefined) : undefined) ?? [];
  const content = meta.source === "mcp" ? (meta.content as unknown as ContentBlock[]) : undefined;
  const isOffered = { data: true, content: content !== undefined, table: isTable(data), envelope: true, raw: true };
  const tabs = (Object.keys(tabNames) as ResultTab[]).filter((name) => isOffered[name]);
  const hasMedia = content?.some((block) => block.type !== "text") === true;
  const selected = tab.value ?? (hasMedia ? "content" : "data");
  return (
    <>
      <Tabs
        label="Views of the result"
        tabs={tabs.map((name) => [name, tabNames[name]])}
        selected={selected}
        onSelect={(name) => {
          tab.value = name;
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
      {selected === "raw" && <Raw data={data} />}
      {drift.length > 0 && (
        <p class="warn">
          Drift at {countOf(drift.length, "place")}:{" "}
          {drift.map(({ path, kind }) => `${path === "" ? "the whole result" : visibleProse(path)} ${kind}`).join(", ")}
          . The result did not have the shape that the operation declares.
        </p>
      )}
    </>
  );
}

function Raw({ data }: { data: unknown }) {
  const text = useMemo(() => JSON.stringify(data, undefined, 2) ?? "", [data]);
  return (
    <>
      <p>
        <CopyButton text={() => text} what="Result" />
        <Button kind="quiet" onClick={() => save(text, "result.json")}>
          Save {formatBytes(text.length)}
        </Button>
      </p>
      {text.length > maxRaw ? (
        <p class="muted">This is too long to be shown as text. Copy or save it.</p>
      ) : (
        <pre>{visibleProse(text)}</pre>
      )}
    </>
  );
}

function Failure({ error, type, onField }: Omit<ResultProps, "result"> & { error: NonNullable<CallResult["error"]> }) {
  const { code, details } = error;
  const issues = (details as { errors?: { path: string; message: string }[] } | undefined)?.errors;
  const isList = code === "VALIDATION_ERROR" && Array.isArray(issues);
  return (
    <>
      <ErrorPanel error={error} type={type}>
        {isList && <Issues issues={issues} onField={onField} />}
      </ErrorPanel>
      {details !== undefined && !isList && <ValueTree value={details} label="Details of the error" />}
    </>
  );
}

/** What is wrong with an input; each message leads to its field. */
export function Issues(props: { issues: readonly { path: string; message: string }[]; onField(path: string): void }) {
  return (
    <ul>
      {props.issues.map(({ path, message }) => (
        <li key={`${path} ${message}`}>
          <button type="button" class="link" onClick={() => props.onField(path)}>
            <Prose value={path === "" ? message : `${path} ${message}`} max={300} />
          </button>
        </li>
      ))}
    </ul>
  );
}
