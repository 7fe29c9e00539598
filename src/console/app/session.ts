import { signal } from "@preact/signals";

/** A session: what the page sends to the hub instead of a token of the configuration. */
export interface Session {
  token: string;
  /** In milliseconds since the epoch. */
  expiresAt: number;
  identity: { id: string };
}

/** Why there is no session. */
export type SignedOut = "new" | "signed out" | "expired" | "removed" | "code" | "refused" | "blocked" | "unreachable";

const storageKey = "operations.session";
/** How long a new tab waits for the session of another one, in ms. */
const otherTabsMs = 1_000;
const channel = new BroadcastChannel("operations.session");
/** The page is served at `/console/`; the session belongs to the server, not to an operation: models would get it as a tool. */
const sessionURL = new URL("session", document.baseURI);

/** The session of this tab; `undefined` while it looks for one. */
export const session = signal<Session | SignedOut | undefined>(undefined);

/** The session of the person who is signed in. */
export function currentSession(): Session | undefined {
  return typeof session.value === "object" ? session.value : undefined;
}

/** Takes the code out of the address, before anything else can read it. */
export function takeCode(): string | undefined {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (location.hash.startsWith("#code=")) history.replaceState(null, "", `${location.pathname}#/`);
  return code;
}

/** Signs in with a code of the address, or with the session of this tab or of another one. */
export async function start(code: string | undefined): Promise<void> {
  channel.onmessage = ({ data }) => {
    const mine = currentSession();
    if (data === "request" && mine !== undefined) channel.postMessage(mine);
    if (data === "sign out") end("signed out");
  };
  if (code !== undefined) return exchange({ code });
  const stored = read(sessionStorage.getItem(storageKey)) ?? (await askOtherTabs());
  if (stored === undefined) session.value = "new";
  else keep(stored);
}

/** Signs in with a token of the configuration. */
export async function signIn(token: string): Promise<void> {
  await exchange({}, token);
}

/** Ends the session in all tabs. */
export async function signOut(): Promise<void> {
  const mine = currentSession();
  channel.postMessage("sign out");
  end("signed out");
  if (mine === undefined) return;
  await fetch(sessionURL, { method: "DELETE", headers: { authorization: `Bearer ${mine.token}` } }).catch(() => {});
}

/** Forgets the session, because the hub does not accept it any more. */
export function end(reason: SignedOut): void {
  sessionStorage.removeItem(storageKey);
  session.value = reason;
}

async function exchange(body: { code?: string }, token?: string): Promise<void> {
  try {
    const response = await fetch(sessionURL, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
    const given = response.ok ? read(await response.text()) : undefined;
    if (given !== undefined) keep(given);
    else if (response.status === 429) session.value = "blocked";
    else session.value = body.code === undefined ? "refused" : "code";
  } catch {
    session.value = "unreachable";
  }
}

function keep(given: Session): void {
  sessionStorage.setItem(storageKey, JSON.stringify(given));
  session.value = given;
}

function read(text: string | null): Session | undefined {
  if (text === null) return undefined;
  const { token, expiresAt, identity } = JSON.parse(text) as Session;
  return expiresAt > Date.now() ? { token, expiresAt, identity } : undefined;
}

function askOtherTabs(): Promise<Session | undefined> {
  return new Promise((resolve) => {
    const asking = new BroadcastChannel("operations.session");
    const finish = (found: Session | undefined) => {
      clearTimeout(timer);
      asking.close();
      resolve(found);
    };
    const timer = setTimeout(() => finish(undefined), otherTabsMs);
    asking.onmessage = ({ data }) => {
      if (typeof data === "object") finish(data as Session);
    };
    asking.postMessage("request");
  });
}
