import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The document that describes the server below. */
const documentFile = new URL("shop.yaml", import.meta.url);

const names = ["Lamp", "Table", "Chair", "Shelf", "Clock"];

/** Starts a small shop on a free port. It stands for any HTTP API that has a document. */
export async function startShop(): Promise<{ origin: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const send = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const path = request.url ?? "/";
    if (path === "/openapi.yaml") {
      return response.setHeader("content-type", "application/yaml").end(readFileSync(documentFile));
    }
    if (request.headers.authorization !== "Bearer shop-token-1") return send(401, { reason: "no token" });
    const id = Number(/^\/v1\/items\/(\d+)$/.exec(path)?.[1]);
    const name = names[id - 1];
    if (name === undefined) return send(404, { reason: "sold out" });
    // More than the document describes, and a number as a string: real services drift.
    return send(200, { id, name, price: "10", shelf: "B7" });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
