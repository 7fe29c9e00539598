import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { withDeadline } from "../call/deadline.ts";
import { HTTPCaller } from "../client/over-http.ts";
import { findHub } from "../hub/state-folder.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import { waitFor } from "../internal/wait.ts";
import { CallError, isCallError } from "../operation/inside.ts";
import type { CommandContext } from "./command.ts";
import { type FoundOperation, type hubOptions, type Target, timeoutsOf, toHubURL } from "./target.ts";

/** Maximum size of a value of a subscription, in bytes: that of a response. */
const maxEventBytes = 64 * 1_024 * 1_024;

/**
 * Opens a running hub, or another server of this package, with the token of the options or the environment, or else with the
 * one that a hub on this machine stored.
 */
export async function openHub(hub: string, context: CommandContext<typeof hubOptions>): Promise<Target> {
  const { signal, environment, options } = context;
  const given = options.token ?? (environment["OPERATIONS_TOKEN"] || undefined);
  const stored = given === undefined ? await findHub(hub, { ...environment }) : undefined;
  const url = toHubURL(stored?.url ?? hub);
  const token = given ?? stored?.token;
  const timeouts = timeoutsOf(context);
  const label = withoutTrailingSlashes(url.href);
  let status: number | undefined;
  let server: Target | undefined; // Set if it is not a hub.
  const fetch = async (to: string, init: RequestInit) => {
    const response = await fetchWithNode(to, init);
    status = response.status;
    return response;
  };
  const caller = new HTTPCaller(url, { token, fetch, limits: { eventBytes: maxEventBytes } });
  /** Adds what the user can do about a failure of the server itself. A worker of a hub may deny calls, too. */
  const advise = (error: unknown) => {
    if (!isCallError(error)) throw error;
    const { code, message, details, mayHaveRun } = error;
    const isDenied = code === "ACCESS_DENIED" && status === 401;
    const isUnreachable = code === "UNAVAILABLE" && !mayHaveRun && status === undefined;
    if (!isDenied && !isUnreachable) throw error;
    const advice = isUnreachable
      ? "Is the hub running?"
      : `${token === undefined ? "Set" : "Check"} OPERATIONS_TOKEN, a token of the hub.`;
    throw new CallError(code, `${message} ${advice}`, details, error);
  };
  const call: Target["call"] = (id, input) =>
    caller.call(id, input, withDeadline({ signal, timeout: timeouts.call })).catch(advise);
  return {
    label,
    isHub: true,
    find: async (query) => {
      try {
        if (server === undefined) return ((await call("hub.operations", query)).data as FoundOperations).operations;
      } catch (error) {
        if (!isCallError(error) || error.code !== "OPERATION_NOT_FOUND") throw error;
        server = await openServer(label, token, context);
      }
      return server.find(query);
    },
    call,
    subscribe: async function* (id, input) {
      try {
        yield* caller.subscribe(id, input, withDeadline({ signal, timeout: timeouts.subscription }));
      } catch (error) {
        advise(error);
      }
    },
    close: async () => {
      await caller.close();
      await server?.close();
    },
  };
}

interface FoundOperations {
  operations: FoundOperation[];
}

/** Reads the operations of a server of this package that is not a hub from its OpenAPI document. */
async function openServer(url: string, token: string | undefined, context: CommandContext<typeof hubOptions>) {
  const { createLocalTarget, notReady } = await import("./source-target.ts");
  const { openAPISource } = await import("../from/openapi/index.ts");
  const { createRegistry } = await import("../registry/index.ts");
  const registry = createRegistry({ operations: [] });
  const target = createLocalTarget(context, registry, { label: url, close: () => registry.close() });
  const auth = token === undefined ? {} : { auth: { type: "bearer", token } as const };
  const following = registry.follow(openAPISource(`${url}/openapi.json`, { trust: "operations", ...auth }));
  const limits = { timeout: timeoutsOf(context).call, signal: context.signal };
  await waitFor(following, limits, (code) => notReady(url, code)).catch(async (error) => {
    await target.close();
    throw error;
  });
  return target;
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
