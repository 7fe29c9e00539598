import { type BriefOperation, type HistoryPage, idOf, type OperationList, type SourceState } from "../app/api.ts";
import { ask, clockOffset, mayReadCalls, status } from "../app/hub.ts";
import { preferences } from "../app/preferences.ts";
import { useQuery } from "../app/query.ts";
import { hrefTo } from "../app/router.ts";
import { loadSeries, type Series } from "../app/stats.ts";
import { KindMark } from "../ui/icons.tsx";
import { CallPlots } from "../ui/plot.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { formatCount, formatDuration, formatTime, Name, OperationName, Prose } from "../ui/text.tsx";
import { CallRow, hrefOfCall } from "./calls.tsx";
import { rememberKinds } from "./kinds.ts";
import { OperationRow } from "./operations.tsx";

const hourMs = 3_600_000;
const maxClockOffsetMs = 2_000;

/** What a person wants to know first: is everything up, what happened, what failed, and what to try. */
export function Overview() {
  status.value; // Scopes and names arrive with it.
  const mayRead = mayReadCalls();
  return (
    <div class="view overview">
      <header class="view-header flat">
        <h1>Overview</h1>
        {status.value !== undefined && (
          <span class="muted">
            version {status.value.hub.version}, running since{" "}
            {formatTime(status.value.hub.startedAt, { millis: false })}
          </span>
        )}
        {Math.abs(clockOffset.value) > maxClockOffsetMs && (
          <span class="warn">the clock of the hub differs by {formatDuration(Math.abs(clockOffset.value))}</span>
        )}
      </header>
      {mayRead && <SourceStates />}
      {mayRead && <LastHour />}
      <ThingsToTry />
    </div>
  );
}

function SourceStates() {
  const [query, again] = useQuery(async (abort) => {
    const sources = await ask<SourceState[]>("sources", {}, abort);
    rememberKinds(sources);
    return sources;
  });
  return (
    <section aria-label="Sources">
      <h2>Sources</h2>
      <Loaded query={query} again={again}>
        {(sources) => (
          <ul class="chips">
            {sources.map(({ name, kind, status: state, reason, operations }) => (
              <li key={name} data-source={name} data-status={state}>
                <a href={hrefTo("sources", name)} class={`chip chip-${state}`} title={reason}>
                  <KindMark kind={kind} /> <Name value={name} />
                  <span class="muted">{state === "ready" ? formatCount(operations) : state}</span>
                </a>
              </li>
            ))}
            {sources.length === 0 && <li class="muted">No sources yet.</li>}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

function LastHour() {
  const [stats, again] = useQuery((abort) => loadSeries(hourMs, undefined, abort));
  const [failures, retry] = useQuery((abort) => ask<HistoryPage>("history", { status: "failed", limit: 5 }, abort));
  return (
    <>
      <section aria-label="The last hour">
        <h2>The last hour</h2>
        <Loaded query={stats} again={again}>
          {(loaded) => <Numbers {...loaded} />}
        </Loaded>
      </section>
      <div class="columns">
        <section aria-label="Most called">
          <h2>Most called</h2>
          {stats.data !== undefined && <MostCalled groups={stats.data.groups} />}
        </section>
        <section aria-label="Last failures">
          <h2>Last failures</h2>
          <Loaded query={failures} again={retry}>
            {({ calls }) => <Failures calls={calls} />}
          </Loaded>
        </section>
      </div>
    </>
  );
}

function Numbers({ calls, failed, p50, p95, points, history }: Series) {
  const figures = [
    ["calls", <a href={hrefTo("calls")}>{formatCount(calls)}</a>],
    [
      "failed",
      <a class={failed > 0 ? "bad" : ""} href={hrefTo("calls", "", { status: "failed" })}>
        {formatCount(failed)}
      </a>,
    ],
    ["half took at most", p50 === undefined ? "–" : formatDuration(p50)],
    ["95 % took at most", p95 === undefined ? "–" : formatDuration(p95)],
  ] as const;
  return (
    <>
      <dl class="figures" data-count={calls}>
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {history.problem !== undefined && (
        <p class="bad">
          Calls cannot be stored: <Prose value={history.problem} />
        </p>
      )}
      <CallPlots points={points} />
    </>
  );
}

function MostCalled({ groups }: Pick<Series, "groups">) {
  if (groups.length === 0) return <p class="muted">No calls yet.</p>;
  return (
    <table class="plain boxed">
      <thead>
        <tr>
          <th scope="col">operation</th>
          <th scope="col">calls</th>
          <th scope="col">failed</th>
          <th scope="col">p95</th>
        </tr>
      </thead>
      <tbody>
        {groups.slice(0, 5).map((one) => (
          <tr key={one.key}>
            <td>
              <a class="plain-link" href={hrefTo("operations", one.key)}>
                <OperationName id={one.key} />
              </a>
            </td>
            <td class="number">{formatCount(one.calls)}</td>
            <td class={one.failed > 0 ? "number bad" : "number"}>{formatCount(one.failed)}</td>
            <td class="number">{one.p95 === undefined ? "–" : formatDuration(one.p95)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Failures({ calls }: HistoryPage) {
  if (calls.length === 0) return <p class="muted">No call has failed.</p>;
  return (
    <ul class="short-list">
      {calls.map((call) => (
        <li key={call.id}>
          <a class="row" href={hrefOfCall(call)} data-call={call.requestId}>
            <CallRow {...call} />
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Operations that were used last, or some that are easy to try: without a required input, and without a change. */
function ThingsToTry() {
  const { used } = preferences.value;
  const [query, again] = useQuery(async (abort) => {
    const { operations } = await ask<OperationList>("operations", { limit: 200, brief: true }, abort);
    return operations.filter(({ namespace }) => namespace !== "hub");
  });
  return (
    <section aria-label="Things to try">
      <h2>{used.length > 0 ? "Used last" : "Things to try"}</h2>
      <Loaded query={query} again={again}>
        {(operations) => {
          if (operations.length === 0) return <Empty title="There is nothing that you may call yet" />;
          const byId = new Map(operations.map((operation) => [idOf(operation), operation]));
          const known = used.filter((id) => byId.has(id)).slice(0, 6);
          const easy = [...byId.keys()].sort((one, other) => rankOf(byId.get(one)!) - rankOf(byId.get(other)!));
          return (
            <ul class="short-list">
              {(known.length > 0 ? known : easy.slice(0, 3)).map((id) => (
                <li key={id}>
                  <a class="row" href={hrefTo("operations", id)} data-operation={id}>
                    <OperationRow operation={byId.get(id)!} />
                  </a>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}

function rankOf({ type }: BriefOperation): number {
  return { query: 0, subscription: 1, mutation: 2 }[type];
}
