import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as the handlers of this example read it. */
export interface APIRequest {
  /** Method and path, such as `GET /orders/B-1042`. */
  route: string;
  /** Query parameters. */
  query: URLSearchParams;
  /** Parsed JSON body. */
  body: Record<string, unknown>;
}

/** Status and JSON body of a response. */
export type APIResponse = [status: number, body: unknown];

/** A running API. */
export interface API {
  /** URL of its OpenAPI document. */
  documentUrl: string;
  /** Ends the server. */
  close(): Promise<void>;
}

/**
 * Starts an HTTP API on a free port of this machine, with its OpenAPI document at `/openapi.json`. Requests without
 * `header: value` are refused, as public APIs refuse requests without a key.
 */
export async function startAPI(
  document: object,
  [header, value]: [header: string, value: string],
  handle: (request: APIRequest) => APIResponse,
): Promise<API> {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://api");
    const [status, body] =
      pathname === "/openapi.json"
        ? [200, document]
        : request.headers[header] !== value
          ? [401, { message: "The key is missing or invalid." }]
          : handle({ route: `${request.method} ${pathname}`, query: searchParams, body: await readJSON(request) });
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    documentUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi.json`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readJSON(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text === "" ? {} : JSON.parse(text);
}
