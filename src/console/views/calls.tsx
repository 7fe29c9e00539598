import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";
import { keyOf, live, liveCalls, rate, totals } from "../app/activity.ts";
import type { CallRecord, HistoryPage } from "../app/api.ts";
import { ask, hubTime } from "../app/hub.ts";
import { bindKeys } from "../app/keys.ts";
import { useQuery } from "../app/query.ts";
import { hrefTo, route, setParams } from "../app/router.ts";
import { loadSeries } from "../app/stats.ts";
import { KindMark } from "../ui/icons.tsx";
import { Button, SearchBox, Select } from "../ui/parts.tsx";
import { CallPlots } from "../ui/plot.tsx";
import { Rows } from "../ui/rows.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { countOf, formatCount, formatDuration, formatTime, Name, OperationName } from "../ui/text.tsx";
import { kindOf } from "./kinds.ts";

/** Periods of the plots and of the recorded calls, in ms. */
const periods = { "15m": 900_000, "1h": 3_600_000, "6h": 21_600_000, "24h": 86_400_000 } as const;
const doors = ["http", "mcp", "websocket", "bus", "code", "command"];

/** What the list shows. The parameters of the address are its filters. */
interface CallFilter {
  operationId?: string;
  status?: string;
  via?: string;
  identity?: string;
  source?: string;
  code?: string;
  minDuration?: number;
  roots?: boolean;
}

/**
 * Calls, live and recorded in one list. Scrolling pauses it; numbers go on.
 * @param of - shows only the calls of this operation, without filters
 */
export function Calls({ of }: { of?: string }) {
  const filter = useComputed(() => (of === undefined ? readFilter(route.value.params) : { operationId: of }));
  const isPaused = useSignal(false);
  const frozen = useSignal<{ calls: readonly CallRecord[]; started: number; failed: number } | undefined>(undefined);
  const pause = useCallback(
    (paused: boolean) => {
      if (isPaused.peek() === paused) return;
      isPaused.value = paused;
      const { started, failed } = totals.peek();
      frozen.value = paused ? { calls: liveCalls.peek(), started, failed } : undefined;
    },
    [isPaused, frozen],
  );
  // A changed filter shows the newest calls again.
  useSignalEffect(() => {
    filter.value;
    pause(false);
  });
  useEffect(
    () =>
      bindKeys([
        { key: "p", does: "Pause or continue", run: () => pause(!isPaused.peek()) },
        {
          key: "f",
          does: "Only failed calls",
          run: () => setParams({ status: route.peek().params.get("status") === "failed" ? "" : "failed" }),
        },
      ]),
    [pause, isPaused],
  );
  const [recorded, again] = useQuery((abort) => loadPage(filter.value, undefined, abort));
  const older = useSignal<{ of: HistoryPage | undefined; pages: HistoryPage[] }>({ of: undefined, pages: [] });
  const pages =
    recorded.data === undefined ? [] : [recorded.data, ...(older.value.of === recorded.data ? older.value.pages : [])];
  const isLoading = useSignal(false);
  const loadOlder = useCallback(async () => {
    const { data } = recorded;
    const known = older.peek().of === data ? older.peek().pages : [];
    const cursor = [data, ...known].at(-1)?.next;
    if (data === undefined || cursor === undefined || isLoading.peek()) return;
    isLoading.value = true;
    const page = await loadPage(filter.peek(), cursor).catch(() => undefined);
    if (page !== undefined) older.value = { of: data, pages: [...known, page] };
    isLoading.value = false;
  }, [recorded, older, filter, isLoading]);
  const current = frozen.value?.calls ?? liveCalls.value;
  const calls = merge(
    current.filter((call) => matches(call, filter.value)),
    pages.flatMap((page) => page.calls),
  );
  const hasMore = pages.at(-1)?.next !== undefined;
  return (
    <div class={of === undefined ? "view list-view" : "list-view inner-list"}>
      {of === undefined && <Filters filter={filter.value} />}
      <LiveLine
        frozen={frozen.value}
        isPaused={isPaused.value}
        onResume={() => {
          pause(false);
          document.querySelector(".rows")?.scrollTo(0, 0);
        }}
      />
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
              height={32}
              keyOf={keyOf}
              hrefOf={hrefOfCall}
              attributesOf={attributesOf}
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
  const set = (name: string) => (value: string) => setParams({ [name]: value });
  return (
    <header class="view-header">
      <h1>Calls</h1>
      <SearchBox label="Operation, or a pattern like github.*" value={filter.operationId ?? ""} onInput={set("op")} />
      <Select
        label="status"
        all="Any status"
        value={filter.status ?? ""}
        options={[
          ["failed", "failed"],
          ["succeeded", "succeeded"],
          ["running", "running"],
        ]}
        onChange={set("status")}
      />
      <Select
        label="door"
        all="Any door"
        value={filter.via ?? ""}
        options={doors.map((door) => [door, `by ${door}`])}
        onChange={set("via")}
      />
      <Select
        label="duration"
        all="Any duration"
        value={filter.minDuration === undefined ? "" : String(filter.minDuration)}
        options={[
          ["100", "over 100 ms"],
          ["1000", "over 1 s"],
          ["10000", "over 10 s"],
        ]}
        onChange={set("min")}
      />
      {(["who", "source", "code"] as const).map((name) => {
        const value = route.value.params.get(name);
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
    </header>
  );
}

/** Whether the list is live, what it leaves out, and how to continue: nothing is missing silently. */
function LiveLine(props: {
  frozen: { started: number; failed: number } | undefined;
  isPaused: boolean;
  onResume(): void;
}) {
  const { frozen, isPaused, onResume } = props;
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
  if (isPaused && frozen !== undefined) {
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

const attributesOf = (call: CallRecord) => ({ "data-call": call.requestId, "data-status": call.status });

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

function readFilter(params: URLSearchParams): CallFilter {
  const text = (name: string) => params.get(name) || undefined;
  const min = Number(params.get("min"));
  const filter: CallFilter = {
    operationId: text("op"),
    status: text("status"),
    via: text("via"),
    identity: text("who"),
    source: text("source"),
    code: text("code"),
    ...(min > 0 && { minDuration: min }),
    ...(params.get("roots") === "1" && { roots: true }),
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** Whether a call of the stream matches, as the hub decides it for recorded ones. */
export function matches(call: CallRecord, filter: CallFilter): boolean {
  const { operationId, status, via, identity, source, code, minDuration, roots } = filter;
  if (operationId !== undefined && !isLike(call.operationId, operationId)) return false;
  if (status !== undefined && call.status !== status) return false;
  if (via !== undefined && call.via !== via) return false;
  if (identity !== undefined && call.identity !== identity) return false;
  if (source !== undefined && call.source !== source) return false;
  if (code !== undefined && call.code !== code) return false;
  if (minDuration !== undefined && (call.duration ?? 0) < minDuration) return false;
  return roots !== true || call.parentRequestId === undefined;
}

function isLike(id: string, pattern: string): boolean {
  if (!pattern.includes("*")) return id === pattern;
  const parts = pattern.split("*");
  let at = parts[0]!.length;
  if (!id.startsWith(parts[0]!)) return false;
  for (const part of parts.slice(1, -1)) {
    const found = id.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  const last = parts.at(-1)!;
  return id.length - last.length >= at && id.endsWith(last);
}

/** One list without repeats, newest first: a call of the stream and its record are the same. */
function merge(current: readonly CallRecord[], recorded: readonly CallRecord[]): CallRecord[] {
  const byKey = new Map(recorded.map((call) => [keyOf(call), call]));
  for (const call of current) if (!byKey.has(keyOf(call))) byKey.set(keyOf(call), call);
  return [...byKey.values()].sort((one, other) => other.startedAt - one.startedAt);
}

function loadPage(filter: CallFilter, before?: number, abort?: AbortSignal): Promise<HistoryPage> {
  const { status, ...others } = filter;
  if (status === "running") return Promise.resolve({ calls: [] }); // Running calls are in the stream only.
  return ask<HistoryPage>("history", { ...others, ...(status !== undefined && { status }), before, limit: 100 }, abort);
}
