import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { HTTPCaller } from "../client/over-http.ts";
import { findHub } from "../hub/state-folder.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import { CallError, isCallError, withDeadline } from "../operation/inside.ts";
import { type FoundOperation, setToken, type Target, type TargetContext, timeoutsOf, toHubURL } from "./target.ts";

/** Maximum size of a value of a subscription, in bytes: that of a response. */
const maxEventBytes = 64 * 1_024 * 1_024;

/** Opens a running hub with the token of the environment, or else with the one that a hub on this machine stored. */
export async function openHub(hub: string, context: TargetContext): Promise<Target> {
  const { signal, environment } = context;
  const stored = environment["OPERATIONS_TOKEN"] ? undefined : await findHub(hub, { ...environment });
  const url = toHubURL(stored?.url ?? hub);
  const token = environment["OPERATIONS_TOKEN"] || stored?.token;
  const timeouts = timeoutsOf(context);
  const hasToken = token !== undefined;
  let hasResponded = false;
  const fetch = async (to: string, init: RequestInit) => {
    const response = await fetchWithNode(to, init);
    hasResponded = true;
    return response;
  };
  const caller = new HTTPCaller(url, { token, fetch, limits: { eventBytes: maxEventBytes } });
  const advise = (error: unknown) => {
    throw withAdvice(error, hasToken, hasResponded);
  };
  const call: Target["call"] = (id, input) =>
    caller.call(id, input, withDeadline({ signal, timeout: timeouts.call })).catch(advise);
  return {
    label: withoutTrailingSlashes(url.href),
    hasToken,
    find: async (query) => {
      const { data } = await call("hub.operations", query);
      return (data as { operations: FoundOperation[] }).operations;
    },
    call,
    subscribe: async function* (id, input) {
      try {
        yield* caller.subscribe(id, input, withDeadline({ signal, timeout: timeouts.subscription }));
      } catch (error) {
        advise(error);
      }
    },
    close: () => caller.close(),
  };
}

/** Adds what the user can do about a failure. The source of an operation may be unavailable in a hub that responds. */
function withAdvice(error: unknown, hasToken: boolean, hasResponded: boolean): unknown {
  if (!isCallError(error)) return error;
  const { code, message, details, mayHaveRun } = error;
  const addAdvice = (advice: string) => new CallError(code, `${message} ${advice}`, details, error);
  if (code === "ACCESS_DENIED") return addAdvice(hasToken ? "Check OPERATIONS_TOKEN." : setToken);
  return code === "UNAVAILABLE" && !mayHaveRun && !hasResponded ? addAdvice("Is the hub running?") : error;
}

/**
 * Sends a request as `fetch` does, as far as the client of a hub needs it. Loading `fetch` itself takes longer than
 * everything else that a call does.
 */
async function fetchWithNode(url: string, { method, headers, body, signal }: RequestInit): Promise<Response> {
  const { request } = await (url.startsWith("https:") ? import("node:https") : import("node:http"));
  const options = { method, headers: headers as Record<string, string>, signal: signal!, agent: false };
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options as object, resolve)
      .on("error", reject)
      .end(body);
  });
  const status = message.statusCode!;
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name: string) => message.headers[name] ?? null },
    body: Readable.toWeb(message),
  } as unknown as Response;
}
