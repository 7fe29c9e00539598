import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const city = { name: "city", in: "path", required: true, schema: { type: "string" } };
const json = (schema: object) => ({ "application/json": { schema } });

/** The OpenAPI document of the API below. */
const document = {
  openapi: "3.1.0",
  info: { title: "Weather", version: "4.2.0" },
  servers: [{ url: "/v4" }],
  paths: {
    "/cities/{city}/forecast": {
      parameters: [city],
      get: {
        operationId: "forecast",
        summary: "Returns the forecast for tomorrow",
        responses: {
          200: {
            description: "The forecast",
            content: json({
              type: "object",
              required: ["sky", "celsius"],
              properties: { sky: { type: "string" }, celsius: { type: "number" } },
            }),
          },
          404: {
            description: "The city is unknown",
            content: json({ type: "object", properties: { known: { type: "array", items: { type: "string" } } } }),
          },
        },
      },
    },
    "/cities/{city}/wind": {
      parameters: [city],
      get: {
        operationId: "wind",
        summary: "Streams the wind speed",
        responses: {
          200: {
            description: "Metres per second",
            content: { "text/event-stream": { schema: { type: "object", properties: { speed: { type: "number" } } } } },
          },
        },
      },
    },
  },
};

const forecasts: Record<string, object> = {
  Lima: { sky: "garúa", celsius: 17 },
  Oslo: { sky: "snow", celsius: -4 },
};

/** Starts an HTTP API on a free port, with its document at `/openapi.json`. The program only knows its address. */
export async function startWeatherAPI(): Promise<{ documentUrl: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const [, version, , name = "", what] = (request.url ?? "").split("/").map(decodeURIComponent);
    const send = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (version === "openapi.json") return send(200, document);
    if (what === "wind") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write([4, 7, 5].map((speed, id) => `id: ${id}\ndata: {"speed":${speed}}\n\n`).join(""));
    }
    return Object.hasOwn(forecasts, name) ? send(200, forecasts[name]!) : send(404, { known: Object.keys(forecasts) });
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
