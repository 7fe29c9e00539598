import { useMemo } from "preact/hooks";
import { printSignature } from "../../contract/index.ts";
import type { CheckResult, OperationDetails, OperationList } from "../app/api.ts";
import { ask } from "../app/hub.ts";
import { markUsed } from "../app/preferences.ts";
import { useQuery } from "../app/query.ts";
import { hrefTo, route, setParams } from "../app/router.ts";
import { KindMark } from "../ui/icons.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { CopyButton, Tabs } from "../ui/parts.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { formatBytes, Name, OperationName, Prose, visibleProse } from "../ui/text.tsx";
import { ValueTree } from "../value/tree.tsx";
import { AccessPanel } from "./access.tsx";
import { Calls } from "./calls.tsx";
import { Try } from "./try.tsx";

type OperationTab = "try" | "contract" | "calls" | "access";

/** One operation: try it, read its contract, see its calls, and who may call it. */
export function Operation({ id }: { id: string }) {
  const [query, again] = useQuery(async (abort) => {
    const { operations } = await ask<OperationList<OperationDetails>>("operations", { id }, abort);
    if (operations.length > 0) markUsed(id);
    return operations[0];
  });
  if (query.state === "ready" && query.data === undefined) {
    return (
      <Empty isView title="There is no such operation, or you may not call it">
        <NotFoundReason id={id} />
        <a class="button" href={hrefTo("operations")}>
          All operations
        </a>
      </Empty>
    );
  }
  if (query.state === "denied") {
    return (
      <div class="view">
        <h1>
          <OperationName id={id} />
        </h1>
        <AccessPanel id={id} />
      </div>
    );
  }
  return (
    <div class="view">
      <Loaded query={query} again={again}>
        {(operation) => operation !== undefined && <Details id={id} operation={operation} />}
      </Loaded>
    </div>
  );
}

/** Names the operation with the nearest id. */
function NotFoundReason({ id }: { id: string }) {
  const [check] = useQuery((abort) => ask<CheckResult>("check", { id }, abort));
  return (
    <p>
      {check.data?.steps.map(({ step, reason }) => step === "find" && reason && <Prose key={step} value={reason} />)}
    </p>
  );
}

function Details({ id, operation }: { id: string; operation: OperationDetails }) {
  const { type, kind, version, title, description, provenance, tags = [] } = operation;
  const tab = (route.value.params.get("tab") ?? "try") as OperationTab;
  return (
    <>
      <header class="operation-header">
        <h1>
          <KindMark kind={kind} /> <OperationName id={id} />
        </h1>
        <span class={`badge type-${type}`}>{type}</span>
        {provenance !== undefined && (
          <a href={hrefTo("sources", provenance.source)}>
            <Name value={provenance.source} />
          </a>
        )}
        <span class="muted">v{visibleProse(version)}</span>
        {operation.idempotent === true && <span class="badge">idempotent</span>}
        {operation.destructive === true && <span class="badge warn">destructive</span>}
        {tags.map((tag) => (
          <a key={tag} class="badge" href={hrefTo("operations", "", { tag })}>
            <Name value={tag} />
          </a>
        ))}
      </header>
      {title !== undefined && (
        <p class="operation-title">
          <Prose value={title} max={200} />
        </p>
      )}
      {description !== (title ?? "") && <Markdown source={description} />}
      <Tabs<OperationTab>
        label="Operation"
        selected={tab}
        onSelect={(next) => setParams({ tab: next === "try" ? "" : next })}
        tabs={[
          ["try", "Try"],
          ["contract", "Contract"],
          ["calls", "Calls"],
          ["access", "Access"],
        ]}
      />
      {tab === "try" && <Try id={id} operation={operation} />}
      {tab === "contract" && <Contract operation={operation} />}
      {tab === "calls" && <Calls of={id} />}
      {tab === "access" && <AccessPanel id={id} />}
    </>
  );
}

function Contract({ operation }: { operation: OperationDetails }) {
  const { provenance, tool, errorSchemas = [], accessControl } = operation;
  const signature = useMemo(() => printSignature(operation as never), [operation]);
  const text = [signature.call, ...signature.errors, ...signature.definitions].join("\n\n");
  return (
    <div class="contract">
      <h2>Signature</h2>
      <pre>{visibleProse(text)}</pre>
      <CopyButton text={() => text} what="Signature" />
      {errorSchemas.length > 0 && (
        <>
          <h2>Errors</h2>
          <ul>
            {errorSchemas.map(({ code, description, httpStatus }) => (
              <li key={code}>
                <code>{visibleProse(code)}</code>{" "}
                {httpStatus !== undefined && <span class="muted">HTTP {httpStatus}</span>}{" "}
                {description !== undefined && <Prose value={description} />}
              </li>
            ))}
          </ul>
        </>
      )}
      {provenance !== undefined && (
        <>
          <h2>Where it comes from</h2>
          <p>
            <KindMark kind={provenance.kind} /> <Name value={provenance.source} />
            {provenance.http !== undefined && (
              <code>
                {" "}
                {provenance.http.method} {visibleProse(provenance.http.path)}
              </code>
            )}
            {provenance.mcp !== undefined && (
              <>
                {" "}
                tool <Name value={provenance.mcp.tool} />
              </>
            )}
            {provenance.address !== undefined && (
              <span class="muted">
                {" "}
                <Name value={provenance.address} />
              </span>
            )}
          </p>
        </>
      )}
      {tool !== undefined && (
        <>
          <h2>As a tool</h2>
          <p>
            <Name value={tool.name} /> <span class="muted">{formatBytes(tool.bytes)}</span>
          </p>
        </>
      )}
      <h2>Schemas</h2>
      <h3>Input</h3>
      <ValueTree value={operation.inputSchema} label="Input schema" />
      <h3>Output</h3>
      <ValueTree value={operation.outputSchema} label="Output schema" />
      <h3>Who may call it</h3>
      <ValueTree value={accessControl} label="Access rule" />
    </div>
  );
}
