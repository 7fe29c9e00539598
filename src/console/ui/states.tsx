import type { ComponentChildren } from "preact";
import type { OperationType } from "../app/api.ts";
import type { Query } from "../app/query.ts";
import { Button } from "./parts.tsx";
import { Name, Prose } from "./text.tsx";

/** What a person can do about an error, by its code. */
const advice: Record<string, string> = {
  ACCESS_DENIED:
    "Ask the operator of the hub for the scopes that are missing. The tab “Access” of an operation names them.",
  VALIDATION_ERROR: "Change the input where the messages say so, and send it again.",
  OPERATION_NOT_FOUND: "The operation may have been renamed, or its source may have left the configuration.",
  WRONG_OPERATION_TYPE: "Subscriptions are started; queries and mutations are called.",
  TIMEOUT: "The time was not enough. Allow more time, or ask for less.",
  ABORTED: "The call was cancelled.",
  UNAVAILABLE: "The source of the operation cannot be reached at present. Its state is under “Sources”.",
  UPSTREAM_DENIED: "The server behind this operation does not accept the credentials of the hub.",
  BAD_RESPONSE: "The server behind this operation answered with something that cannot be read.",
  PAYLOAD_TOO_LARGE: "The input or the result is too large. Ask for less, or in parts.",
  LIMIT_EXCEEDED: "Too many calls at once. Try again in a moment.",
  OUTPUT_INVALID:
    "The result does not have the shape that the operation promises, and the operation is strict about it.",
  EXECUTION_ERROR: "The operation failed inside. The log of the hub has the reason, under the id of this call.",
  HTTP: "This is the answer of the server behind this operation. Its details are below.",
  declared: "This is an error that the operation declares.",
  INPUT_REQUIRED: "The server behind this operation asks a question before it answers, which is not supported here.",
};

/** Returns a sentence of advice about an error. Only what changes something must not be repeated by mistake. */
export function adviceFor(
  error: { code: string; retryable?: boolean; mayHaveRun?: boolean },
  type?: OperationType,
): string {
  const ran = error.mayHaveRun === true && type === "mutation";
  const again = error.retryable === true && !ran ? " Sending it again is safe." : "";
  const found = advice[error.code] ?? (/^HTTP_\d/.test(error.code) ? advice["HTTP"] : advice["declared"]);
  return `${found}${ran ? " It may have run: look before you send it again." : again}`;
}

interface ErrorPanelProps {
  error: NonNullable<Query<unknown>["error"]>;
  /** Type of the operation that failed. */
  type?: OperationType;
  onRetry?: () => void;
  children?: ComponentChildren;
}

/** An error, with advice and a button that tries again. */
export function ErrorPanel({ error, type, onRetry, children }: ErrorPanelProps) {
  return (
    <div class="state error" role="alert">
      <p>
        <code>{error.code}</code> <Prose value={error.message} />
      </p>
      <p class="advice">{adviceFor(error, type)}</p>
      {children}
      {onRetry !== undefined && (
        <Button icon="retry" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Something that is not there, and what to do next. In place of a view, its title is the heading of the page. */
export function Empty({ title, isView, children }: { title: string; isView?: boolean; children?: ComponentChildren }) {
  const Title = isView === true ? "h1" : "p";
  return (
    <div class="state empty" data-state="empty">
      <Title class="empty-title">{title}</Title>
      {children}
    </div>
  );
}

/** A view or a part of it whose data is loaded: old data stays, dimmed, while newer data is on its way. */
export function Loaded<T>(props: {
  query: Query<T>;
  again: () => void;
  /** What the caller cannot see without the scope, for `ACCESS_DENIED`. */
  scope?: "hub:read" | "hub:admin";
  children: (data: T) => ComponentChildren;
}) {
  const { query, again, scope, children } = props;
  const { state, data, error } = query;
  return (
    <div class="loaded" data-state={state === "loading" && data !== undefined ? "stale" : state}>
      {state === "denied" && scope !== undefined ? (
        <Empty title="You may not see this">
          <p>
            It needs the scope <Name value={scope} />. The operator of the hub adds it to your identity under{" "}
            <code>access.tokens</code>.
          </p>
        </Empty>
      ) : (
        error !== undefined && <ErrorPanel error={error} onRetry={again} />
      )}
      {data !== undefined && state !== "denied" && children(data)}
      {data === undefined && state === "loading" && <Skeleton />}
    </div>
  );
}

/** Grey lines in place of data; visible after 200 ms. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: rows }, (_, at) => (
        <i key={at} />
      ))}
    </div>
  );
}
