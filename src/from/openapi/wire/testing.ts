import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Socket } from "node:net";
import { Type } from "typebox";
import type { OperationContext, ResponseEnvelope } from "../../../operation/index.ts";
import type { HTTPServiceConfig } from "../config.ts";
import type { EndpointPlan, ParameterPlan } from "../endpoint.ts";
import { createEndpointHandler } from "../handler.ts";

/** Creates an endpoint plan with overrides. */
export function endpointPlan(overrides: Partial<EndpointPlan> = {}): EndpointPlan {
  return {
    operationId: "shop.op",
    method: "GET",
    path: "/things",
    baseUrl: "http://127.0.0.1:9",
    parameters: [],
    declaresJSON: true,
    accept: ["application/json"],
    security: [],
    securitySchemes: new Map(),
    errorCodes: new Map(),
    idempotent: false,
    outputSchema: Type.Unknown(),
    ...overrides,
  };
}

const styles = { path: "simple", header: "simple", query: "form", cookie: "form", querystring: "form" } as const;

/** Creates a parameter plan with overrides. Style and explode are the specification's defaults. */
export function parameterPlan(
  overrides: Partial<ParameterPlan> & Pick<ParameterPlan, "name" | "location">,
): ParameterPlan {
  const style = overrides.style ?? styles[overrides.location];
  return {
    argument: overrides.name,
    required: overrides.location === "path",
    style,
    explode: style === "form" || style === "deepObject",
    allowReserved: false,
    allowEmptyValue: false,
    ...overrides,
  };
}

/** Creates a call context with overrides. */
export function callContext(overrides: Partial<OperationContext> = {}): OperationContext {
  return {
    requestId: "request-1",
    metadata: {},
    env: {},
    call: () => Promise.reject(new Error("This context calls no operation.")),
    errors: {},
    signal: new AbortController().signal,
    progress: () => {},
    ...overrides,
  };
}

/** Calls an endpoint once. */
export async function callEndpoint(
  plan: Partial<EndpointPlan>,
  input: unknown = {},
  config: Partial<HTTPServiceConfig> = {},
  context: Partial<OperationContext> = {},
): Promise<ResponseEnvelope> {
  const { handler } = createEndpointHandler(endpointPlan(plan), { namespace: "shop", ...config });
  return (await handler(input, callContext(context))) as ResponseEnvelope;
}

/** Opens a stream of an endpoint. */
export function openEndpoint(
  plan: Partial<EndpointPlan>,
  config: Partial<HTTPServiceConfig> = {},
  context: Partial<OperationContext> = {},
): AsyncIterableIterator<ResponseEnvelope> {
  const full = endpointPlan({ stream: "sse", accept: ["text/event-stream"], ...plan });
  const { handler } = createEndpointHandler(full, { namespace: "shop", ...config });
  return handler({}, callContext(context)) as AsyncIterableIterator<ResponseEnvelope>;
}

/** One request that a server received. */
export interface ReceivedRequest {
  method: string;
  /** The raw request target. */
  url: string;
  headers: IncomingMessage["headers"];
  rawHeaders: string[];
  body: Buffer;
}

/** A loopback server that records the requests it receives. */
export interface TestServer extends AsyncDisposable {
  origin: string;
  received: ReceivedRequest[];
  server: Server;
}

/** Starts an HTTP server. Without a listener, it responds with `{}`. */
export async function startServer(
  listener?: (request: ReceivedRequest, ...rest: Parameters<RequestListener>) => void,
): Promise<TestServer> {
  const received: ReceivedRequest[] = [];
  const server = createServer(async (message, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const { method = "", url = "", headers, rawHeaders } = message;
    const request = { method, url, headers, rawHeaders, body: Buffer.concat(chunks) };
    received.push(request);
    if (listener !== undefined) return listener(request, message, response);
    response.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A loopback socket server. */
export interface RawServer extends AsyncDisposable {
  origin: string;
  sockets: Socket[];
}

/** Starts a server whose responses `talk` writes, for responses that an HTTP library would not send. */
export async function startRawServer(talk: (socket: Socket, request: string) => void): Promise<RawServer> {
  const sockets: Socket[] = [];
  const server = createSocketServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => talk(socket, data.toString("latin1")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Returns the error of a call as JSON data. */
export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return (error as { toJSON(): unknown }).toJSON();
  }
  throw new Error("The call did not fail.");
}

/** Creates a fetch whose response body arrives in the given chunks. */
export function pieces(contentType: string, ...parts: Uint8Array[]): typeof fetch {
  return async () => {
    const body = new ReadableStream({
      start(controller) {
        for (const part of parts) if (part.length > 0) controller.enqueue(part);
        controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": contentType } });
  };
}

/** Collects all values. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

/** Starts a server whose event streams are written by the test. */
export async function startLive() {
  const answers: ServerResponse[] = [];
  const waiting: Array<(answer: ServerResponse) => void> = [];
  const server = await startServer((_request, _message, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    const next = waiting.shift();
    if (next === undefined) answers.push(response);
    else next(response);
  });
  const answer = () =>
    answers.length > 0
      ? Promise.resolve(answers.shift()!)
      : new Promise<ServerResponse>((resolve) => waiting.push(resolve));
  return { server, answer, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
