/** Test helpers for this folder. */
import { onTestFinished } from "vitest";
import { createRegistry, type IOperationDefinition, type OperationRegistry, Type } from "../../index.ts";
import { type ServeHTTPOptions, serveHTTP } from "./index.ts";

/** An operation `task.name`, which returns its input unless `part` has another handler. */
export function operation(name: string, part: Partial<IOperationDefinition> = {}): IOperationDefinition {
  return {
    namespace: "task",
    name,
    version: "1.0.0",
    type: "query",
    description: "",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler: (input: unknown) => input,
    ...part,
  };
}

/** A server of these operations without authentication, and functions that send requests to it. */
export function serve(operations: readonly IOperationDefinition[], options: Partial<ServeHTTPOptions> = {}) {
  const registry: OperationRegistry = createRegistry({ operations });
  const server = serveHTTP(registry, { authenticate: "none", ...options });
  onTestFinished(() => server.close({ timeout: 0 }));
  const send = async (path: string, init: RequestInit = {}): Promise<Response> =>
    server.fetch(new Request(`http://localhost${path}`, init));
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
  const get = async (path: string, headers: Record<string, string> = {}) => read(await send(path, { headers }));
  return { registry, server, send, post, get };
}

/** Status, media type and parsed body of a response. */
export async function read(response: Response) {
  const text = await response.text();
  const type = response.headers.get("content-type");
  return { status: response.status, type, body: text === "" ? undefined : JSON.parse(text) };
}
