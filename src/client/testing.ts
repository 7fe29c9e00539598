import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Type } from "typebox";
import { onTestFinished } from "vitest";
import { createRegistry, defineOperation, mcpEnvelope } from "../index.ts";
import { type ConnectOptions, connect } from "./index.ts";

const base = { namespace: "task", version: "1.0.0", description: "", accessControl: { requiredScopes: [] } } as const;

/** Records of the handlers of {@link createTaskRegistry}. */
export interface Seen {
  started: number;
  aborted: number;
  metadata: unknown[];
  /** Deadlines of calls of `task.create` and subscriptions to `task.changes`. */
  deadlines: Array<number | undefined>;
}

/** Creates a registry with operations of each type, and the records of their handlers. */
export function createTaskRegistry() {
  const seen: Seen = { started: 0, aborted: 0, metadata: [], deadlines: [] };
  const create = defineOperation({
    ...base,
    name: "create",
    type: "mutation",
    inputSchema: Type.Object({ title: Type.String({ minLength: 1 }) }),
    outputSchema: Type.Object({ id: Type.Integer(), title: Type.String() }),
    errors: { TITLE_TAKEN: Type.Object({ title: Type.String() }) },
    handler: ({ title }, { deadline, errors }) => {
      seen.started += 1;
      seen.deadlines.push(deadline);
      if (title === "taken") throw errors.TITLE_TAKEN({ title }, "There is a task with this title.");
      return { id: seen.started, title };
    },
  });
  const whoami = defineOperation({
    ...base,
    name: "whoami",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Object({ id: Type.Optional(Type.String()) }),
    handler: (_input, { identity, metadata }) => {
      seen.metadata.push(metadata);
      return { id: identity?.id };
    },
  });
  const hang = defineOperation({
    ...base,
    name: "hang",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: (_input, { signal }) => {
      seen.started += 1;
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          seen.aborted += 1;
          resolve(undefined);
        });
      });
    },
  });
  const tool = defineOperation({
    ...base,
    name: "tool",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: () => mcpEnvelope("no", { isError: true, content: [{ type: "text", text: "The disk is full." }] }),
  });
  const changes = defineOperation({
    ...base,
    name: "changes",
    type: "subscription",
    inputSchema: Type.Object({ upTo: Type.Optional(Type.Integer()) }),
    outputSchema: Type.Integer(),
    handler: async function* ({ upTo = Number.POSITIVE_INFINITY }, { deadline }) {
      seen.started += 1;
      seen.deadlines.push(deadline);
      try {
        for (let change = 1; change <= upTo; change++) yield change;
      } finally {
        seen.aborted += 1;
      }
    },
  });
  const registry = createRegistry({ operations: [create, whoami, hang, tool, changes] });
  return { registry, seen };
}

/** The type of the registry, as a client imports it. */
export type TaskRegistry = ReturnType<typeof createTaskRegistry>["registry"];

/** A request as the server received it. */
export interface Received {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Responds to a request as a test needs it. */
export type Respond = (response: ServerResponse, received: Received) => void;

export const localMeta = { source: "local", operationId: "task.create", timestamp: 1 } as const;
export const envelopeHeaders = { "content-type": "application/vnd.alkdev.envelope+json" };
export const problemHeaders = { "content-type": "application/problem+json" };
export const streamHeaders = { "content-type": "text/event-stream" };

const sendEnvelope: Respond = (response) => {
  response.writeHead(200, envelopeHeaders).end(JSON.stringify({ data: "done", meta: localMeta }));
};

/** A server that responds as the test says, and the requests that it received. */
export async function listen(respond: Respond = sendEnvelope) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method, url: path, headers } = request;
    received.push({ method, path, headers, body });
    respond(response, received.at(-1)!);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, close };
}

/** A client of a server that responds as the test says. */
export async function setUp(respond?: Respond, options?: ConnectOptions) {
  const { origin, received, close } = await listen(respond);
  const client = connect(`${origin}/`, options);
  onTestFinished(() => client.close());
  return { create: client["task"]!["create"]!, client, origin, received, close };
}

/** Calls and returns the error. */
export async function failureOf(call: PromiseLike<unknown>): Promise<unknown> {
  return call.then(
    (value) => Promise.reject(new Error(`The call returned ${JSON.stringify(value)}.`)),
    (error: unknown) => error,
  );
}

/** Reads a subscription to its end or its failure. */
export async function collect(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const collected: unknown[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}
