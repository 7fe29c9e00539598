import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SourceState } from "../app/api.ts";
import { ask, hasScope, hubTime, subscribe, toCallError } from "../app/hub.ts";
import { useQuery } from "../app/query.ts";
import { hrefTo } from "../app/router.ts";
import { KindMark } from "../ui/icons.tsx";
import { Button } from "../ui/parts.tsx";
import { Empty, ErrorPanel, Loaded } from "../ui/states.tsx";
import { countOf, formatDuration, formatTime, Name, Prose } from "../ui/text.tsx";
import { rememberKinds } from "./kinds.ts";

const badges = { connecting: "", ready: "ok", retrying: "warn", failed: "bad", closed: "" } as const;

/** The sources of the hub: state, reason, next attempt, report. */
export function Sources({ selected }: { selected: string }) {
  const changes = useSignal(0);
  const failure = useSignal<ReturnType<typeof toCallError> | undefined>(undefined);
  const done = useSignal("");
  const [query, again] = useQuery(async (abort) => {
    changes.value;
    const sources = await ask<SourceState[]>("sources", {}, abort);
    rememberKinds(sources);
    return sources;
  });
  useEffect(() => {
    const controller = new AbortController();
    const follow = async () => {
      const stream = subscribe<SourceState>("hub.sourceChanges", {}, { signal: controller.signal });
      for await (const _ of stream) changes.value += 1;
    };
    follow().catch(() => {}); // The list can be read again by hand.
    return () => controller.abort();
  }, [changes]);
  const run = async (name: string, input: unknown, message: string) => {
    failure.value = undefined;
    done.value = "";
    try {
      await ask(name, input);
      done.value = message;
    } catch (error) {
      failure.value = toCallError(error);
    }
    again();
  };
  const isAdmin = hasScope("hub:admin");
  return (
    <div class="view">
      <header class="view-header flat">
        <h1>Sources</h1>
        {isAdmin && (
          <Button icon="retry" onClick={() => run("reload", {}, "The configuration was read again.")}>
            Reload the configuration
          </Button>
        )}
        <span role="status" class="ok">
          {done.value}
        </span>
      </header>
      {failure.value !== undefined && <ErrorPanel error={failure.value} />}
      <Loaded query={query} again={again} scope="hub:read">
        {(sources) =>
          sources.length === 0 ? (
            <Empty title="This hub has no sources yet">
              <p>Add one to the configuration, and reload it:</p>
              <pre>{'sources: { tasks: { modules: "./operations" } }'}</pre>
            </Empty>
          ) : (
            <ul class="cards">
              {sources.map((source) => (
                <SourceCard
                  key={source.name}
                  source={source}
                  isSelected={source.name === selected}
                  onRetry={
                    isAdmin && source.status !== "ready"
                      ? () => run("retry", { source: source.name }, `${source.name} is tried again.`)
                      : undefined
                  }
                />
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}

function SourceCard(props: { source: SourceState; isSelected: boolean; onRetry: (() => void) | undefined }) {
  const { source, isSelected, onRetry } = props;
  const { name, kind, status, since, reason, nextAttempt, operations, address, report } = source;
  return (
    <li class={isSelected ? "card selected" : "card"} data-source={name} data-status={status}>
      <header>
        <KindMark kind={kind} />
        <h2>
          <Name value={name} />
        </h2>
        <span class={`badge ${badges[status]}`}>{status}</span>
        <span class="muted">since {formatTime(since, { millis: false })}</span>
        {onRetry !== undefined && (
          <Button icon="retry" onClick={onRetry}>
            Retry now
          </Button>
        )}
      </header>
      {address !== undefined && (
        <p class="muted">
          <Name value={address} />
        </p>
      )}
      {reason !== undefined && (
        <p class={status === "failed" ? "bad" : "warn"}>
          <Prose value={reason} />
          {nextAttempt !== undefined && <Countdown to={nextAttempt} />}
        </p>
      )}
      <p>
        <a href={hrefTo("operations", "", { source: name })}>{countOf(operations, "operation")}</a>
        {report !== undefined && report.skipped.length + report.warnings.length > 0 && (
          <span class="muted">
            {" "}
            · {countOf(report.skipped.length, "skipped operation")} · {countOf(report.warnings.length, "warning")}
          </span>
        )}
      </p>
      {report !== undefined && report.skipped.length + report.warnings.length > 0 && (
        <details open={isSelected}>
          <summary>Report of the import</summary>
          <ul class="report">
            {[...report.skipped, ...report.warnings].map((line) => (
              <li key={line}>
                <Prose value={line} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

/** The time until something happens, updated every second. */
function Countdown({ to }: { to: number }) {
  const left = useSignal(Math.max(0, to - hubTime()));
  useEffect(() => {
    const timer = setInterval(() => {
      left.value = Math.max(0, to - hubTime());
    }, 1_000);
    return () => clearInterval(timer);
  }, [to, left]);
  return <span> Next attempt in {formatDuration(left.value)}.</span>;
}
