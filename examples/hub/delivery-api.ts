import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

const json = (schema: object) => ({ "application/json": { schema } });
const city = { type: "string" };
const days = { type: "integer", description: "Days until the parcel arrives" };
const unknown = {
  description: "The city is unknown",
  content: json({ type: "object", properties: { message: { type: "string" } } }),
};

/** The OpenAPI document of the API below. */
const document = {
  openapi: "3.1.0",
  info: { title: "Delivery", version: "1.0.0" },
  paths: {
    "/cities/{city}": {
      get: {
        operationId: "estimate",
        summary: "Returns how long a delivery takes",
        parameters: [{ name: "city", in: "path", required: true, schema: city }],
        responses: {
          200: {
            description: "The estimate",
            content: json({ type: "object", required: ["days"], properties: { days } }),
          },
          404: unknown,
        },
      },
    },
    "/parcels": {
      post: {
        operationId: "book",
        summary: "Books the delivery of a parcel",
        requestBody: { required: true, content: json({ type: "object", required: ["city"], properties: { city } }) },
        responses: {
          201: {
            description: "The parcel",
            content: json({ type: "object", required: ["id", "days"], properties: { id: { type: "string" }, days } }),
          },
          404: unknown,
        },
      },
    },
  },
};

const daysByCity: Record<string, number> = { Lima: 6, Nairobi: 4, Oslo: 2 };

/** Starts the HTTP API of a delivery service on a free port. The hub only knows the URL of its OpenAPI document. */
export async function startDeliveryAPI(): Promise<{ documentUrl: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://api");
    const send = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (pathname === "/openapi.json") return send(200, document);
    const isBooking = request.method === "POST" && pathname === "/parcels";
    const name = isBooking ? await readCity(request) : decodeURIComponent(pathname.replace(/^\/cities\//, ""));
    const days = Object.hasOwn(daysByCity, name) ? daysByCity[name] : undefined;
    if (days === undefined) return send(404, { message: `There is no delivery to ${name}.` });
    return isBooking ? send(201, { id: `parcel-${Date.now()}`, days }) : send(200, { days });
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

async function readCity(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return (JSON.parse(text) as { city: string }).city;
}
