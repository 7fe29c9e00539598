import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

/** The document that describes the server below. */
export const documentFile = fileURLToPath(new URL("shop.yaml", import.meta.url));

/** The server's address and how to end it. */
export interface Shop {
  origin: string;
  /** Path and query of the last request, as it arrived. */
  lastTarget: () => string;
  close(): Promise<void>;
}

const items = ["Lamp", "Table", "Chair", "Shelf", "Clock"].map((name, index) => ({ id: index + 1, name, price: 10 }));
const orders = [1, 2, 3, 4].map((count) => ({ item: 1, count }));

/** Starts a small shop on a free port. It stands for any HTTP API that has a document. */
export async function startShop(): Promise<Shop> {
  let lastTarget = "";
  let photo: Uint8Array<ArrayBuffer> = new Uint8Array();
  let isBusy = true;

  const routes: Record<string, (request: IncomingMessage, response: ServerResponse, url: URL) => unknown> = {
    "GET /openapi.yaml": (_request, response) =>
      response.setHeader("content-type", "application/yaml").end(readFileSync(documentFile)),
    "POST /token": (_request, response) => send(response, 200, { access_token: "by-oauth", expires_in: 3600 }),
    "GET /v1/items": (_request, response, { searchParams }) => {
      const from = Number(searchParams.get("cursor") ?? 0);
      const end = from + Number(searchParams.get("limit") ?? 2);
      send(response, 200, { items: items.slice(from, end), next_cursor: end < items.length ? String(end) : null });
    },
    "POST /v1/items": async (request, response) =>
      send(response, 201, { id: items.length + 1, ...JSON.parse(String(await read(request))) }),
    "GET /v1/items/{id}": (_request, response, { pathname }) => {
      const item = items.find(({ id }) => id === Number(pathname.split("/").at(-1)));
      if (item === undefined) return send(response, 404, { reason: "sold out" });
      // An undeclared property, and a number as a string: real services drift.
      return send(response, 200, { ...item, price: String(item.price), shelf: "B7" });
    },
    "GET /v1/items/{id}/photo": (_request, response) => response.setHeader("content-type", "image/png").end(photo),
    "PUT /v1/items/{id}/photo": async (request, response) => {
      const headers = { "content-type": request.headers["content-type"] ?? "" };
      const form = await new Response(await read(request), { headers }).formData();
      const file = form.get("file");
      if (!(file instanceof File)) return send(response, 400, { reason: "no file" });
      photo = new Uint8Array(await file.arrayBuffer());
      return send(response, 200, { caption: form.get("caption"), name: file.name, type: file.type, bytes: file.size });
    },
    "GET /v1/stock": (_request, response) => {
      isBusy = !isBusy;
      if (isBusy) send(response, 200, 42);
      else send(response, 503, { reason: "busy" }, { "retry-after": "0" });
    },
    "GET /v1/orders/events": async (request, response) => {
      const seen = Number(request.headers["last-event-id"] ?? 0);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const next = orders.slice(seen, seen + 2);
      const text = next.map(
        (order, index) => `event: order\nid: ${seen + index + 1}\ndata: ${JSON.stringify(order)}\n\n`,
      );
      // The first connection is dropped after two events.
      response.write(`retry: 10\n${text.join("")}`, () => seen === 0 && setTimeout(() => response.destroy(), 20));
    },
    "POST /v1/advice": async (request, response) => {
      const { stream } = JSON.parse(String(await read(request)));
      if (stream !== true) return send(response, 200, { answer: "Buy the lamp." });
      response.setHeader("content-type", "text/event-stream");
      const words = ["Buy", "the", "lamp."].map((word) => `data: ${JSON.stringify({ word })}\n\n`);
      return response.end(`${words.join("")}data: [DONE]\n\n`);
    },
  };

  const server = createServer(async (request, response) => {
    lastTarget = request.url ?? "/";
    const url = new URL(lastTarget, "http://shop.test");
    const isPublic = !url.pathname.startsWith("/v1/");
    const token = /^Bearer (?:shop-token-\d+|by-oauth)$/;
    if (!isPublic && !token.test(request.headers.authorization ?? "")) return send(response, 401, { reason: "who?" });
    const route = routes[`${request.method} ${url.pathname.replace(/\/\d+/, "/{id}")}`];
    if (route === undefined) return send(response, 404, { reason: "no such page" });
    return route(request, response, url);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lastTarget: () => lastTarget,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
