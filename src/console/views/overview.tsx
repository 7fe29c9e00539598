import { type BriefOperation, type HistoryPage, idOf, type OperationList, type SourceState } from "../app/api.ts";
import { ask, hasScope, status } from "../app/hub.ts";
import { preferences } from "../app/preferences.ts";
import { useQuery } from "../app/query.ts";
import { hrefTo } from "../app/router.ts";
import { loadSeries } from "../app/stats.ts";
import { KindMark } from "../ui/icons.tsx";
import { CallPlots } from "../ui/plot.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import {
  countOf,
  formatCount,
  formatDuration,
  formatTime,
  Name,
  OperationName,
  Prose,
  visibleProse,
} from "../ui/text.tsx";
import { CallRow, hrefOfCall } from "./calls.tsx";
import { rememberKinds } from "./kinds.ts";

const hourMs = 3_600_000;

/** What a person wants to know first: is everything up, what happened, what failed, and what to try. */
export function Overview() {
  status.value; // Scopes and names arrive with it.
  const mayRead = hasScope("hub:read") || hasScope("hub:admin");
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
          {({ calls, failed, groups, points, history }) => (
            <>
              <p>
                <a href={hrefTo("calls")} data-count={calls}>
                  {countOf(calls, "call")}
                </a>
                ,{" "}
                <a href={hrefTo("calls", "", { status: "failed" })} class={failed > 0 ? "bad" : ""}>
                  {formatCount(failed)} failed
                </a>
                {history.problem !== undefined && (
                  <span class="bad">
                    {" "}
                    · calls cannot be stored: <Prose value={history.problem} />
                  </span>
                )}
              </p>
              <CallPlots points={points} />
              {groups.length > 0 && (
                <table class="plain">
                  <thead>
                    <tr>
                      <th scope="col">most called</th>
                      <th scope="col">calls</th>
                      <th scope="col">failed</th>
                      <th scope="col">p95</th>
                    </tr>
                  </thead>
                  <tbody>
                    {groups.slice(0, 5).map((one) => (
                      <tr key={one.key}>
                        <td>
                          <a href={hrefTo("operations", one.key)}>
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
              )}
            </>
          )}
        </Loaded>
      </section>
      <section aria-label="Last failures">
        <h2>Last failures</h2>
        <Loaded query={failures} again={retry}>
          {({ calls }) =>
            calls.length === 0 ? (
              <p class="muted">No call has failed.</p>
            ) : (
              <ul class="short-list">
                {calls.map((call) => (
                  <li key={call.id}>
                    <a class="row" href={hrefOfCall(call)} data-call={call.requestId}>
                      <CallRow {...call} />
                    </a>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
    </>
  );
}

/** Operations that were used last, or some that are easy to try: without a required input, and without a change. */
function ThingsToTry() {
  const { used } = preferences.value;
  const [query, again] = useQuery(async (abort) => {
    const { operations } = await ask<OperationList>("operations", { limit: 60, brief: true }, abort);
    return operations.filter(({ namespace }) => namespace !== "hub");
  });
  return (
    <section aria-label="Things to try">
      <h2>{used.length > 0 ? "Used last" : "Things to try"}</h2>
      <Loaded query={query} again={again}>
        {(operations) => {
          if (operations.length === 0) return <Empty title="There is nothing that you may call yet" />;
          const byId = new Map(operations.map((operation) => [idOf(operation), operation]));
          const easy = [...operations].sort((one, other) => rankOf(one) - rankOf(other)).map(idOf);
          const ids = (used.length > 0 ? used : easy).slice(0, used.length > 0 ? 6 : 3);
          return (
            <ul class="short-list">
              {ids.map((id) => (
                <li key={id}>
                  <a class="row" href={hrefTo("operations", id)} data-operation={id}>
                    <KindMark kind={byId.get(id)?.kind} />
                    <span class="cell-name">
                      <OperationName id={id} />
                    </span>
                    <span class="cell-text">{visibleProse(byId.get(id)?.description.split("\n", 1)[0] ?? "")}</span>
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
