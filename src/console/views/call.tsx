import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { copy } from "../app/announce.ts";
import type { CallRecord, CallTree as CallTreeData } from "../app/api.ts";
import { ask, status as hubStatus, hubTime } from "../app/hub.ts";
import { hrefWithInput } from "../app/input-link.ts";
import { useQuery } from "../app/query.ts";
import { hrefTo, route, setParams } from "../app/router.ts";
import { KindMark } from "../ui/icons.tsx";
import { Button } from "../ui/parts.tsx";
import { adviceFor, Empty, Loaded } from "../ui/states.tsx";
import { countOf, formatCount, formatDuration, formatTime, Name, OperationName, Prose } from "../ui/text.tsx";
import { ValueTree } from "../value/tree.tsx";
import { layoutTree, slowestPath, type TreeRow } from "./call-layout.ts";
import { kindOf } from "./kinds.ts";

/** Rows that are drawn; trees may have thousands. */
const maxRows = 300;
/** A call that runs is read again after this time, in ms. */
const refreshMs = 1_000;

/** One call and all calls that it made, across functions, HTTP, MCP and peers. `place` is a record id, or `r/` and a request id. */
export function CallView({ place }: { place: string }) {
  const requestId = place.startsWith("r/") ? place.slice(2) : undefined;
  const ticks = useSignal(0);
  const [query, again] = useQuery(async (abort) => {
    ticks.value;
    return ask<CallTreeData>("call", requestId === undefined ? { id: Number(place) } : { requestId }, abort);
  });
  const isRunning = query.data?.calls.some((call) => call.status === "running") === true;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => {
      ticks.value += 1;
    }, refreshMs);
    return () => clearInterval(timer);
  }, [isRunning, ticks]);
  if (query.error?.code === "CALL_NOT_FOUND") return <NotFound />;
  return (
    <div class="view">
      <Loaded query={query} again={again} scope="hub:read">
        {({ calls, isCut }) => <CallTree calls={calls} isCut={isCut} />}
      </Loaded>
    </div>
  );
}

function CallTree({ calls, isCut }: CallTreeData) {
  const folded = useSignal<ReadonlySet<string>>(new Set());
  const layout = layoutTree(calls, folded.value, hubTime());
  const selected = route.value.params.get("node") ?? calls[0]!.requestId;
  const call = calls.find((one) => one.requestId === selected) ?? calls[0]!;
  const root = calls[0]!;
  const slowest = slowestPath(layout);
  const fold = (id: string) => {
    const next = new Set(folded.peek());
    if (!next.delete(id)) next.add(id);
    folded.value = next;
  };
  return (
    <>
      <header class="call-header">
        <h1>
          <KindMark kind={kindOf(root)} /> <OperationName id={root.operationId} />
        </h1>
        <Outcome call={root} />
        {root.status !== "running" && <span class="muted">{formatDuration(root.duration)}</span>}
        {root.identity !== undefined && (
          <span>
            <Name value={root.identity} /> <span class="muted">by {root.via}</span>
          </span>
        )}
        <span class="muted">{formatTime(root.startedAt)}</span>
        {root.id !== undefined && <span class="muted">record {root.id}</span>}
        <span class="header-actions">
          <a class="button" href={hrefWithInput(root.operationId, root.input)}>
            Run again
          </a>
          <Button icon="copy" kind="quiet" onClick={() => void copy(location.href, "Link")}>
            Copy link
          </Button>
        </span>
      </header>
      {slowest !== undefined && layout.rows.length > 1 && (
        <p class="muted">
          {countOf(calls.length - 1, "call")} below · the slowest path leads to{" "}
          <OperationName id={slowest.call.operationId} /> with {Math.round(slowest.share * 100)} % of the time
        </p>
      )}
      {calls.length === 1 && <p class="muted">This call made no other calls.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: HTML has no table whose rows are a tree */}
      <table class="call-tree" role="treegrid" aria-label="The call and the calls below it">
        <thead>
          <tr>
            <th scope="col">operation</th>
            <th scope="col">start</th>
            <th scope="col">took</th>
            <th scope="col" class="bar-head">
              <span class="visually-hidden">from start to end</span>
            </th>
            <th scope="col">result</th>
          </tr>
        </thead>
        <tbody>
          {layout.rows.slice(0, maxRows).map((row) => (
            <TreeRowView
              key={`${row.call.requestId} ${row.call.startedAt}`}
              row={row}
              total={layout.total}
              isSelected={row.call === call}
              isFolded={folded.value.has(row.call.requestId)}
              onFold={() => fold(row.call.requestId)}
            />
          ))}
        </tbody>
      </table>
      {layout.rows.length > maxRows && (
        <p class="warn">
          {formatCount(layout.rows.length - maxRows)} more calls are not shown. Fold calls that you do not need.
        </p>
      )}
      {isCut && <p class="warn">This call made more calls than the hub returns at once. The tree is not complete.</p>}
      <Node call={call} />
    </>
  );
}

function TreeRowView(props: { row: TreeRow; total: number; isSelected: boolean; isFolded: boolean; onFold(): void }) {
  const { row, total, isSelected, isFolded, onFold } = props;
  const { call, depth, position, siblings, offset, duration, hasChildren, below, isSlowest } = row;
  const select = () => setParams({ node: call.requestId });
  const onKeyDown = (event: KeyboardEvent) => {
    const line = event.currentTarget as HTMLElement;
    const run: Record<string, () => void> = {
      Enter: select,
      ArrowDown: () => (line.nextElementSibling as HTMLElement | null)?.focus(),
      ArrowUp: () => (line.previousElementSibling as HTMLElement | null)?.focus(),
      ArrowRight: () => hasChildren && isFolded && onFold(),
      ArrowLeft: () => hasChildren && !isFolded && onFold(),
    };
    const action = run[event.key];
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  return (
    <tr
      class={isSelected ? "selected" : ""}
      aria-level={depth + 1}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-expanded={hasChildren ? !isFolded : undefined}
      aria-selected={isSelected}
      tabIndex={isSelected ? 0 : -1}
      data-call={call.requestId}
      data-status={call.status}
      onClick={select}
      onKeyDown={onKeyDown}
    >
      <td>
        <span class="tree-cell" style={{ paddingLeft: `${Math.min(depth, 20) * 16}px` }}>
          {hasChildren ? (
            <button
              type="button"
              class="fold"
              tabIndex={-1}
              aria-hidden="true"
              onClick={(event) => {
                event.stopPropagation();
                onFold();
              }}
            >
              {isFolded ? "▸" : "▾"}
            </button>
          ) : (
            <span class="fold" />
          )}
          <KindMark kind={kindOf(call)} />
          <OperationName id={call.operationId} />
          {isFolded && <span class="badge">{formatCount(below)} below</span>}
        </span>
      </td>
      <td class="number">{formatOffset(offset)}</td>
      <td class="number">{call.status === "running" ? "…" : formatDuration(duration)}</td>
      <td class="bar-cell" aria-hidden="true">
        <i
          class={`bar bar-${call.status} ${isSlowest ? "slowest" : ""}`}
          style={{ left: `${(offset / total) * 100}%`, width: `${Math.max(0.3, (duration / total) * 100)}%` }}
        />
      </td>
      <td>
        <Outcome call={call} />
      </td>
    </tr>
  );
}

/** How a call ended, what the server behind it said, and whether its result was repaired. */
function Outcome({ call }: { call: CallRecord }) {
  const { status, code, from, drift = 0, values } = call;
  return (
    <span class="outcome">
      {status === "running" && <span class="badge">running</span>}
      {status === "succeeded" && <span class="ok">✓</span>}
      {status === "failed" && <span class="bad">✗ {code}</span>}
      {from !== undefined && from !== "local" && <span class="muted">{from.toUpperCase()}</span>}
      {values !== undefined && <span class="muted">{countOf(values, "value")}</span>}
      {drift > 0 && <span class="warn">⚠ {formatCount(drift)} drift</span>}
    </span>
  );
}

function Node({ call }: { call: CallRecord }) {
  const { operationId, input, output, error, code, via } = call;
  const isRecorded = input !== undefined || output !== undefined || error !== undefined;
  const namespace = operationId.split(".", 1)[0]!;
  const payloads: [string, unknown][] = [
    ["Input", input],
    ["Output", output],
    ["Details of the error", error?.details],
  ];
  const isOfPeer = ["nats", "redis", "websocket"].includes(kindOf(call) ?? "");
  return (
    <section class="call-node" aria-label="The selected call">
      <header>
        <h2>
          <OperationName id={operationId} />
        </h2>
        <a href={hrefTo("operations", operationId, { tab: "contract" })}>Contract</a>
        <a href={hrefWithInput(operationId, input)}>Run this call again</a>
        <a href={hrefTo("calls", "", { op: operationId })}>Other calls</a>
      </header>
      {code !== undefined && (
        <p class="bad">
          <code>{code}</code> {error !== undefined && <Prose value={error.message} />}{" "}
          <span class="advice">{adviceFor({ code })}</span>
        </p>
      )}
      <div class="payloads">
        {payloads.map(
          ([name, value]) =>
            value !== undefined && (
              <section key={name} aria-label={name}>
                <h3>{name}</h3>
                <ValueTree value={value} label={`${name} of the call`} />
              </section>
            ),
        )}
      </div>
      {!isRecorded && (
        <p class="muted">
          Input and output were not recorded. Add <code>"{namespace}.*"</code> to <code>history.payloads</code> of the
          configuration to record them.
        </p>
      )}
      {isOfPeer && <p class="muted">This call ran in another process. What it did there is not visible from here.</p>}
      {via === "bus" && (
        <p class="muted">
          This call came from another process. The calls before it are in the history of that process.
        </p>
      )}
    </section>
  );
}

function NotFound() {
  const keep = hubStatus.value?.hub.history.keep;
  return (
    <Empty title="This call is not recorded, or it is not yours">
      <p>The history of this hub keeps {keep === undefined ? "the newest calls in memory" : `calls for ${keep}`}.</p>
      <a class="button" href={hrefTo("calls")}>
        Look at all calls
      </a>
    </Empty>
  );
}

function formatOffset(ms: number): string {
  return ms < 1 ? "0" : `+${formatDuration(ms)}`;
}
