/** Test helpers for servers on Node. */
import { connect, type Socket } from "node:net";
import { deferred } from "../internal/testing.ts";
import type { CloseOptions, FetchInfo, FetchServer } from "../serve/server.ts";

/** A server that describes the requests that it receives. */
export interface DescribingServer extends FetchServer {
  /** The options of every `close()`. */
  readonly closes: Array<CloseOptions | undefined>;
}

/** Creates a server whose response contains its name, the request and what the host knows. */
export function createDescribingServer(name: string, overrides: Partial<FetchServer> = {}): DescribingServer {
  const closes: DescribingServer["closes"] = [];
  const close = async (options?: CloseOptions) => {
    closes.push(options);
  };
  return {
    closes,
    fetch: async (request, info) => describe(name, request, info),
    isUnauthenticated: false,
    close,
    [Symbol.asyncDispose]: close,
    ...overrides,
  };
}

/** A response that describes a request. */
export async function describe(name: string, request: Request, info: FetchInfo = {}): Promise<Response> {
  const { basePath, remoteAddress, allowPublic } = info;
  const { pathname, search } = new URL(request.url);
  const body = await request.text();
  return Response.json({
    name,
    method: request.method,
    url: pathname + search,
    body,
    basePath,
    remoteAddress,
    allowPublic,
  });
}

/** A connection without an HTTP client, for requests that clients refuse to send. */
export interface RawConnection {
  readonly socket: Socket;
  /** Resolves with everything that was received when the server has closed the connection. */
  readonly received: Promise<string>;
}

/** Connects to a port of this machine and sends a string as Latin-1. */
export function sendRaw(port: number, request: string): RawConnection {
  const { promise, resolve } = deferred<string>();
  let received = "";
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    received += chunk;
  });
  socket.on("error", () => {}); // `close` follows
  socket.on("close", () => resolve(received));
  socket.write(request, "latin1");
  return { socket, received: promise };
}
