import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";
import { live, liveCalls, missed, rate, totals } from "../app/activity.ts";
import { type CallRecord, type HistoryPage, keyOf } from "../app/api.ts";
import { ask, hubTime } from "../app/hub.ts";
import { bindKeys } from "../app/keys.ts";
import { usePages, useQuery } from "../app/query.ts";
import { hrefTo, route, setParams } from "../app/router.ts";
import { loadSeries } from "../app/stats.ts";
import { KindMark } from "../ui/icons.tsx";
import { Button, SearchBox, Select } from "../ui/parts.tsx";
import { CallPlots } from "../ui/plot.tsx";
import { Rows } from "../ui/rows.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { countOf, formatCount, formatDuration, formatTime, Name, OperationName } from "../ui/text.tsx";
import { type CallFilter, createMatcher, mergeCalls, readFilter } from "./call-filter.ts";
import { kindOf } from "./kinds.ts";

/** Periods of the plots and of the recorded calls, in ms. */
const periods = { "15m": 900_000, "1h": 3_600_000, "6h": 21_600_000, "24h": 86_400_000 } as const;
/** The filters with fixed values: the parameter, what it shows without a value, and the values. */
const choices = [
  [
    "status",
    "Any status",
    [
      ["failed", "failed"],
      ["succeeded", "succeeded"],
      ["running", "running"],
    ],
  ],
  [
    "via",
    "Any door",
    ["http", "mcp", "websocket", "bus", "code", "command"].map((door) => [door, `by ${door}`] as const),
  ],
  [
    "min",
    "Any duration",
    [
      ["100", "over 100 ms"],
      ["1000", "over 1 s"],
      ["10000", "over 10 s"],
    ],
  ],
] as const satisfies readonly (readonly [
  param: string,
  all: string,
  options: readonly (readonly [string, string])[],
])[];

/** What a paused list shows, and the numbers when it was paused. */
interface Frozen {
  calls: readonly CallRecord[];
  started: number;
  failed: number;
}

/**
 * Calls, live and recorded in one list. Scrolling pauses it; numbers go on.
 * @param of - shows only the calls of this operation, without filters
 */
export function Calls({ of }: { of?: string }) {
  const filter = useComputed(
    (): CallFilter => (of === undefined ? readFilter(route.value.params) : { operationId: of }),
  );
  const frozen = useSignal<Frozen | undefined>(undefined);
  const pause = useCallback(
    (isPaused: boolean) => {
      if ((frozen.peek() !== undefined) === isPaused) return;
      frozen.value = isPaused ? { ...totals.peek(), calls: liveCalls.peek() } : undefined;
    },
    [frozen],
  );
  // A changed filter shows the newest calls again.
  useSignalEffect(() => {
    filter.value;
    pause(false);
  });
  useEffect(
    () =>
      bindKeys([
        { key: "p", does: "Pause or continue", run: () => pause(frozen.peek() === undefined) },
        {
          key: "f",
          does: "Only failed calls",
          run: () => setParams({ status: route.peek().params.get("status") === "failed" ? "" : "failed" }),
        },
      ]),
    [pause, frozen],
  );
  const [recorded, again] = useQuery((abort) => loadPage(filter.value, undefined, abort));
  const [pages, loadOlder] = usePages(
    recorded.data,
    useCallback(
      (known) => {
        const before = known.at(-1)?.next;
        return before === undefined ? undefined : loadPage(filter.peek(), before);
      },
      [filter],
    ),
  );
  const current = (frozen.value?.calls ?? liveCalls.value).filter(createMatcher(filter.value));
  const calls = mergeCalls(current, pages);
  const hasMore = pages.at(-1)?.next !== undefined;
  const resume = () => {
    pause(false);
    document.querySelector(".rows")?.scrollTo(0, 0);
  };
  return (
    <div class={of === undefined ? "view list-view" : "list-view inner-list"}>
      {of === undefined && <Filters filter={filter.value} />}
      <LiveLine frozen={frozen.value} onResume={resume} />
      <Plots operationId={filter.value.operationId} />
      <Loaded query={recorded} again={again} scope="hub:read">
        {() =>
          calls.length === 0 ? (
            <NoCalls isFiltered={Object.keys(filter.value).length > 0} />
          ) : (
            <Rows
              label="Calls, the newest first"
              items={calls}
              total={hasMore ? calls.length + 1 : calls.length}
              keyOf={keyOf}
              hrefOf={hrefOfCall}
              attributesOf={(call) => ({ "data-call": call.requestId, "data-status": call.status })}
              onNearEnd={loadOlder}
              onScroll={(isAtTop) => {
                if (!isAtTop) pause(true);
              }}
            >
              {CallRow}
            </Rows>
          )
        }
      </Loaded>
    </div>
  );
}

function Filters({ filter }: { filter: CallFilter }) {
  const { params } = route.value;
  return (
    <header class="view-header">
      <h1>Calls</h1>
      <SearchBox
        label="Operation, or a pattern like github.*"
        value={filter.operationId ?? ""}
        onInput={(value) => setParams({ op: value })}
      />
      <div class="filters">
        {choices.map(([name, all, options]) => (
          <Select
            key={name}
            label={name}
            all={all}
            value={params.get(name) ?? ""}
            options={options}
            onChange={(value) => setParams({ [name]: value })}
          />
        ))}
        {["who", "source", "code"].map((name) => {
          const value = params.get(name);
          return value === null ? null : (
            <Button key={name} icon="close" kind="quiet" onClick={() => setParams({ [name]: "" })}>
              {name} <Name value={value} />
            </Button>
          );
        })}
        <label class="check">
          <input
            type="checkbox"
            checked={filter.roots === true}
            onChange={(event) => setParams({ roots: event.currentTarget.checked ? "1" : "" })}
          />
          Without nested calls
        </label>
      </div>
    </header>
  );
}

/** Whether the list is live, what it leaves out, and how to continue: nothing is missing silently. */
function LiveLine({ frozen, onResume }: { frozen: Frozen | undefined; onResume(): void }) {
  const state = live.value;
  const { calls, shown } = rate.value;
  const { started, failed, running, skipped } = totals.value;
  if (state.kind === "off") return <p class="live-line warn">Live updates are off. {state.reason}</p>;
  if (state.kind === "stopped") {
    const wait = Math.max(0, state.nextAttempt - hubTime());
    return (
      <p class="live-line bad" role="status">
        Live updates stopped at {formatTime(state.since, { millis: false })}: {state.reason} Connecting again in{" "}
        {formatDuration(wait)}.
      </p>
    );
  }
  if (frozen !== undefined) {
    return (
      <p class="live-line" data-state="paused">
        <span data-count={started - frozen.started}>{countOf(started - frozen.started, "new call")}</span>
        {failed > frozen.failed && <span class="bad">{formatCount(failed - frozen.failed)} failed</span>}
        <span class="muted">paused</span>
        <Button icon="up" onClick={onResume}>
          Show the newest
        </Button>
      </p>
    );
  }
  return (
    <p class="live-line" data-state={state.kind}>
      <span data-count={started}>{countOf(started, "call")} since this page was opened</span>
      <span class={failed > 0 ? "bad" : "muted"}>{formatCount(failed)} failed</span>
      <span class="muted">{formatCount(running)} running</span>
      {calls > shown && (
        <span class="warn">
          showing {formatCount(shown)} of {formatCount(calls)} a second
        </span>
      )}
      {skipped > 0 && <span class="muted">{formatCount(skipped)} are counted, but not listed here</span>}
      {missed.value !== "" && <span class="warn">{missed.value}</span>}
    </p>
  );
}

function Plots({ operationId }: { operationId: string | undefined }) {
  const period = (route.value.params.get("period") ?? "1h") as keyof typeof periods;
  const length = periods[period] ?? periods["1h"];
  const [stats] = useQuery((abort) => loadSeries(length, operationId, abort), [length, operationId]);
  if (stats.data === undefined) return null;
  return (
    <CallPlots points={stats.data.points}>
      <Select
        label="period"
        all="1 h"
        value={period === "1h" ? "" : period}
        options={Object.keys(periods)
          .filter((one) => one !== "1h")
          .map((one) => [one, one.replace(/\D/, " $&")])}
        onChange={(value) => setParams({ period: value })}
      />
    </CallPlots>
  );
}

function NoCalls({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No call matches">
      <a class="button" href={hrefTo("calls")}>
        Clear the filters
      </a>
    </Empty>
  ) : (
    <Empty title="No calls yet">
      <p>
        <a href={hrefTo("operations")}>Try an operation</a>, and it appears here.
      </p>
    </Empty>
  );
}

/** The address of a call: by its record, or by its request while it runs. */
export function hrefOfCall(call: CallRecord): string {
  return call.id === undefined ? hrefTo("calls", `r/${call.requestId}`) : hrefTo("calls", String(call.id));
}

/** One call in a list. */
export function CallRow(call: CallRecord) {
  const { operationId, startedAt, duration, status, code, identity, via, nested = 0, drift = 0, values } = call;
  return (
    <>
      <span class="cell-time mono">{formatTime(startedAt)}</span>
      <KindMark kind={kindOf(call)} />
      <span class="cell-name">
        <OperationName id={operationId} />
      </span>
      <span class="cell-duration">
        {status === "running" ? <span class="running">running</span> : formatDuration(duration ?? 0)}
      </span>
      <span class="cell-status">
        {status === "succeeded" && <span class="ok">✓</span>}
        {status === "failed" && <span class="bad">✗ {code}</span>}
      </span>
      <span class="cell-text">
        {identity !== undefined && <Name value={identity} />}
        {via !== undefined && <span class="muted"> by {via}</span>}
        {values !== undefined && <span class="muted"> · {countOf(values, "value")}</span>}
        {nested > 0 && <span class="muted"> · {formatCount(nested)} below</span>}
        {drift > 0 && <span class="warn"> · {formatCount(drift)} drift</span>}
      </span>
    </>
  );
}

function loadPage(filter: CallFilter, before?: number, abort?: AbortSignal): Promise<HistoryPage> {
  const { status, ...others } = filter;
  if (status === "running") return Promise.resolve({ calls: [] }); // Running calls are in the stream only.
  return ask<HistoryPage>("history", { ...others, ...(status !== undefined && { status }), before, limit: 100 }, abort);
}
