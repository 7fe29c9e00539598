import { useSignal } from "@preact/signals";
import {
  type AccessReport,
  type CheckResult,
  idOf,
  type OperationDetails,
  type OperationList,
  type ToolSummary,
} from "../app/api.ts";
import { ask, hasScope, status } from "../app/hub.ts";
import { useQuery } from "../app/query.ts";
import { route, setParams } from "../app/router.ts";
import { CopyButton, Select } from "../ui/parts.tsx";
import { keepIn } from "../ui/set.ts";
import { Loaded } from "../ui/states.tsx";
import { countOf, formatBytes, formatCount, Name, OperationName, Prose, visibleName } from "../ui/text.tsx";

const stepNames = { find: "operation exists", scopes: "scopes", validate: "input", resource: "resource" } as const;
const marks = { ok: "✓", failed: "✗", unknown: "?", skipped: "–" } as const;
/** About how many bytes of English and JSON are one token of a model. */
const bytesPerToken = 4;

/** Who the caller is, what it may call, and why not; for others with `hub:admin`. */
export function Access() {
  const { params } = route.value;
  const operationId = params.get("op") ?? "";
  const as = params.get("as") ?? "";
  const identity = status.value?.identity;
  return (
    <div class="view">
      <header class="view-header flat">
        <h1>Access</h1>
      </header>
      {identity !== undefined && (
        <p>
          You are <Name value={identity.id} />
          {identity.isOperator === true ? (
            ", the operator of this hub, and may call everything."
          ) : (
            <>
              {" with "}
              {identity.scopes.length === 0
                ? "no scopes"
                : identity.scopes.map((scope) => <Scope key={scope} name={scope} />)}
            </>
          )}
        </p>
      )}
      <OperationPicker value={operationId} onChange={(op) => setParams({ op })} />
      {operationId !== "" && as === "" && <AccessPanel id={operationId} key={operationId} />}
      {hasScope("hub:admin") && <Identities operationId={operationId} as={as} />}
      <AgentView />
    </div>
  );
}

function OperationPicker({ value, onChange }: { value: string; onChange(id: string): void }) {
  const text = useSignal(value);
  const [found] = useQuery((abort) =>
    ask<OperationList>("operations", { query: text.value, limit: 20, brief: true }, abort),
  );
  return (
    <label class="picker">
      Can I call{" "}
      <input
        list="operation-ids"
        aria-label="Operation"
        placeholder="github.issues/create"
        value={text.value}
        spellcheck={false}
        onInput={keepIn(text)}
        onChange={(event) => onChange(event.currentTarget.value.trim())}
      />
      <datalist id="operation-ids">
        {found.data?.operations.map((operation) => (
          <option key={idOf(operation)} value={idOf(operation)} />
        ))}
      </datalist>
    </label>
  );
}

/** Whether the caller may call an operation with an input: each step of a call up to its handler, and what would allow it. */
export function AccessPanel({ id, input }: { id: string; input?: unknown }) {
  const [check, again] = useQuery((abort) => ask<CheckResult>("check", { id, input }, abort), [id, input]);
  const [details] = useQuery((abort) =>
    ask<OperationList<OperationDetails>>("operations", { id }, abort).catch(() => undefined),
  );
  const operation = details.data?.operations[0];
  return (
    <Loaded query={check} again={again}>
      {({ steps }) => {
        const isDenied = steps.some(({ step, outcome }) => outcome === "failed" && step !== "validate");
        return (
          <section class="access" data-state={isDenied ? "denied" : "ready"} aria-label="Access to the operation">
            <h2>
              <OperationName id={id} />: {isDenied ? "no" : "yes, you may call it"}
            </h2>
            <ol class="steps">
              {steps
                .filter(({ step }) => step !== "validate" || input !== undefined)
                .map(({ step, outcome, reason }) => (
                  <li key={step} class={`step step-${outcome}`}>
                    <span aria-hidden="true">{marks[outcome]}</span> <b>{stepNames[step]}</b>{" "}
                    <span class="visually-hidden">{outcome}</span>
                    {reason !== undefined && <Prose value={reason} />}
                    {outcome === "skipped" && (
                      <span class="muted">{isDenied ? "not checked" : "depends on the input"}</span>
                    )}
                  </li>
                ))}
            </ol>
            {operation?.access?.map(({ from, match, scopes }) => (
              <p key={`${from} ${match}`} class="muted">
                needs{" "}
                {scopes.map((scope) => (
                  <Scope key={scope} name={scope} />
                ))}{" "}
                because of{" "}
                {from === "rule" ? (
                  <>
                    the rule <Name value={match ?? ""} />
                  </>
                ) : from === "source" ? (
                  "its source, which has no accessControl of its own"
                ) : (
                  "its definition"
                )}
              </p>
            ))}
            {isDenied && operation !== undefined && <Remedy operation={operation} />}
          </section>
        );
      }}
    </Loaded>
  );
}

/** The line of the configuration that would allow a call. */
function Remedy({ operation }: { operation: OperationDetails }) {
  const identity = status.value?.identity;
  const { requiredScopes, requiredScopesAny = [] } = operation.accessControl;
  const missing = requiredScopes.filter((scope) => identity?.scopes.includes(scope) !== true);
  const any = requiredScopesAny.length > 0 && !requiredScopesAny.some((scope) => identity?.scopes.includes(scope));
  const needed = [...missing, ...(any ? requiredScopesAny.slice(0, 1) : [])];
  if (identity === undefined || needed.length === 0) return null;
  const line = `scopes: ${JSON.stringify([...identity.scopes, ...needed])}`;
  return (
    <p>
      To allow it, the operator of the hub changes the identity <Name value={identity.id} /> in{" "}
      <code>access.tokens</code>: <code>{visibleName(line)}</code> <CopyButton text={() => line} what="Line" />
    </p>
  );
}

function Identities({ operationId, as }: { operationId: string; as: string }) {
  const [query, again] = useQuery(
    (abort) =>
      ask<AccessReport>(
        "access",
        { ...(operationId !== "" && { operationId }), ...(as !== "" && { identity: as }) },
        abort,
      ),
    [operationId, as],
  );
  return (
    <section aria-label="Identities">
      <h2>
        Who{" "}
        {operationId === "" ? (
          "is in the configuration"
        ) : (
          <>
            may call <OperationName id={operationId} />
          </>
        )}
      </h2>
      <Loaded query={query} again={again} scope="hub:admin">
        {({ identities, rules }) => (
          <>
            {identities.length === 0 ? (
              <p class="muted">
                The configuration has no <code>access</code>: only the operator may call.
              </p>
            ) : (
              <>
                <Select
                  label="identity"
                  all="All identities"
                  value={as}
                  options={identities.map(({ id }) => [id, visibleName(id)])}
                  onChange={(value) => setParams({ as: value })}
                />
                <table class="plain boxed">
                  <thead>
                    <tr>
                      <th scope="col">identity</th>
                      <th scope="col">scopes</th>
                      <th scope="col">operations</th>
                      {operationId !== "" && <th scope="col">may call it</th>}
                    </tr>
                  </thead>
                  <tbody>
                    {identities.map(({ id, scopes, operations, mayCall, missing = [] }) => (
                      <tr key={id}>
                        <th scope="row">
                          <Name value={id} />
                        </th>
                        <td>
                          {scopes.map((scope) => (
                            <Scope key={scope} name={scope} />
                          ))}
                        </td>
                        <td class="number">{formatCount(operations)}</td>
                        {operationId !== "" && (
                          <td>
                            {mayCall === true ? (
                              <span class="ok">✓ yes</span>
                            ) : (
                              <span class="bad">
                                ✗ lacks{" "}
                                {missing.map((scope) => (
                                  <Scope key={scope} name={scope} />
                                ))}
                              </span>
                            )}
                          </td>
                        )}
                      </tr>
                    ))}
                  </tbody>
                </table>
              </>
            )}
            {rules.length > 0 && (
              <>
                <h3>Rules</h3>
                <ul>
                  {rules.map((rule, at) => (
                    <li key={at}>
                      <code>{visibleName(JSON.stringify(rule))}</code>
                    </li>
                  ))}
                </ul>
              </>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** What a model gets: the names and sizes of the tools of this identity. */
function AgentView() {
  const [query, again] = useQuery(async (abort) => {
    const input = { limit: 2_000, brief: true, tools: true };
    const { operations, total } = await ask<OperationList<{ tool?: ToolSummary }>>("operations", input, abort);
    const tools = operations.flatMap(({ tool }) => (tool === undefined ? [] : [tool]));
    return { tools, isCut: total > operations.length };
  });
  return (
    <section aria-label="As a model sees it">
      <h2>As a model sees it, over MCP</h2>
      <Loaded query={query} again={again}>
        {({ tools, isCut }) => {
          const bytes = tools.reduce((sum, tool) => sum + tool.bytes, 0);
          return (
            <>
              <p>
                The list of {countOf(tools.length, "tool")} has {formatBytes(bytes)}, about{" "}
                {formatCount(Math.round(bytes / bytesPerToken))} tokens.
                {isCut && " More operations are not counted here."}
                {tools.length > 60 && " Above 60, a model gets three tools that search, describe and call."}
              </p>
              <details>
                <summary>Names of the tools</summary>
                <ul class="report">
                  {tools.map((tool) => (
                    <li key={tool.name}>
                      <Name value={tool.name} /> <span class="muted">{formatBytes(tool.bytes)}</span>
                    </li>
                  ))}
                </ul>
              </details>
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

function Scope({ name }: { name: string }) {
  return (
    <span class="badge scope">
      <Name value={name} />
    </span>
  );
}
