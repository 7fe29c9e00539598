import { effect } from "@preact/signals";
import { Component, type ComponentChildren, render } from "preact";
import { clearActivity, followActivity, live } from "./app/activity.ts";
import { loadStatus, mayReadCalls, status, toCallError } from "./app/hub.ts";
import { listenForKeys } from "./app/keys.ts";
import { applyPreferences } from "./app/preferences.ts";
import { followAddress, hrefTo, route } from "./app/router.ts";
import { currentSession, session, start, takeCode } from "./app/session.ts";
import { lazy } from "./ui/lazy.tsx";
import { Shell } from "./ui/shell.tsx";
import { Empty, ErrorPanel, Skeleton } from "./ui/states.tsx";
import { Operations } from "./views/operations.tsx";
import { SignIn } from "./views/sign-in.tsx";

const Access = lazy(async () => (await import("./views/access.tsx")).Access);
const CallView = lazy(async () => (await import("./views/call.tsx")).CallView);
const Calls = lazy<{ of?: string }>(async () => (await import("./views/calls.tsx")).Calls);
const Operation = lazy(async () => (await import("./views/operation.tsx")).Operation);
const Overview = lazy(async () => (await import("./views/overview.tsx")).Overview);
const Sources = lazy(async () => (await import("./views/sources.tsx")).Sources);

const code = takeCode(); // Before anything else can read it.

function App() {
  const current = session.value;
  if (current === undefined) return <Skeleton />;
  if (typeof current === "string") return <SignIn reason={current} />;
  const [title, view] = viewOf(route.value.view, route.value.rest);
  return (
    <Shell title={title}>
      <Boundary key={`${route.value.view}/${route.value.rest}`}>{view}</Boundary>
    </Shell>
  );
}

function viewOf(view: string, rest: string): [title: string, view: ComponentChildren] {
  if (view === "") return ["Overview", <Overview />];
  if (view === "operations")
    return rest === "" ? ["Operations", <Operations />] : [rest, <Operation id={rest} key={rest} />];
  if (view === "calls") return rest === "" ? ["Calls", <Calls />] : ["Call", <CallView place={rest} key={rest} />];
  if (view === "sources") return ["Sources", <Sources selected={rest} />];
  if (view === "access") return ["Access", <Access />];
  const missing = (
    <Empty isView title="No such page">
      <p>
        <a href={hrefTo("")}>Go to the overview</a>
      </p>
    </Empty>
  );
  return ["No such page", missing];
}

/** Shows an error of the page in place of a view. The rest of the page continues to work. */
class Boundary extends Component<{ children: ComponentChildren }, { error?: unknown }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    const { error } = this.state;
    return error === undefined ? (
      this.props.children
    ) : (
      <ErrorPanel error={toCallError(error)} onRetry={() => this.setState({ error: undefined })} />
    );
  }
}

/** Follows the calls of the hub while somebody is signed in who may read them. */
function followSession(): void {
  let signedOut = new AbortController();
  let token: string | undefined;
  effect(() => {
    const current = currentSession();
    if (current?.token === token) return;
    token = current?.token;
    signedOut.abort();
    signedOut = new AbortController();
    status.value = undefined;
    clearActivity();
    if (current === undefined) return;
    const { signal } = signedOut;
    loadStatus().then(
      () => {
        if (mayReadCalls()) return followActivity(signal);
        live.value = { kind: "off", reason: "Your identity has no scope hub:read." };
      },
      (error) => {
        live.value = { kind: "off", reason: toCallError(error).message };
      },
    );
  });
}

applyPreferences();
followAddress();
listenForKeys();
followSession();
render(<App />, document.getElementById("app")!);
void start(code);
