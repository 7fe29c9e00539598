import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { app as expressApp } from "./express.ts";
import { app as fastifyApp } from "./fastify.ts";
import { app as honoApp } from "./hono.ts";
import { mcp, app as mcpApp } from "./mcp.ts";
import { GET, OPTIONS, POST } from "./next-route.ts";
import { registry, server } from "./server.ts";

const path = "/api/text/greet?name=Ada";
const headers = { authorization: "Bearer let-me-in" };
const show = async (host: string, response: Response) => {
  const text = await response.json();
  console.log(`${host}: ${text}`);
  assert.equal(text, "Hello Ada, from ada");
};

async function start(listener: RequestListener): Promise<{ http: Server; url: string }> {
  const http = createServer(listener).listen(0, "127.0.0.1");
  await once(http, "listening");
  return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}

const express = await start(expressApp);
await show("Express", await fetch(express.url + path, { headers }));

const fastifyUrl = await fastifyApp.listen({ host: "127.0.0.1", port: 0 });
await show("Fastify", await fetch(fastifyUrl + path, { headers }));
await show("Hono", await honoApp.request(path, { headers }));
await show("Next", await GET(new Request(`http://localhost${path}`, { headers })));
for (const [method, handle] of Object.entries({ POST, OPTIONS })) {
  const response = await handle(new Request("http://localhost/api/text/greet?name=Ada", { method, headers }));
  assert.equal(response.status, method === "OPTIONS" ? 204 : 400); // The input of a POST is its body.
}

const resource = await start(mcpApp);
const metadata = await fetch(`${resource.url}/.well-known/oauth-protected-resource/mcp`);
assert.equal((await metadata.json()).resource, `${resource.url}/mcp`);

// #region node
import { toNodeHandler } from "@alkdev/operations/node";

const http = createServer(toNodeHandler(server));

// #endregion node

// #region upgrade
import { serveWebSocket } from "@alkdev/operations/transport-websocket";

const sockets = serveWebSocket(registry, {
  authenticate: ({ token }) => (token === "let-me-in" ? { id: "ada", scopes: [] } : undefined),
});
http.on("upgrade", sockets.upgrade);
// #endregion upgrade
http.listen(0, "127.0.0.1");
await once(http, "listening");
const { port } = http.address() as AddressInfo;

import { connect } from "@alkdev/operations/client";

for (const protocol of ["http", "ws"]) {
  await using client = connect<typeof registry>(`${protocol}://127.0.0.1:${port}`, { token: "let-me-in" });
  assert.equal(await client.text.greet({ name: "Ada" }), "Hello Ada, from ada");
}

// #region close
process.once("SIGTERM", async () => {
  http.close();
  await Promise.all([server.close(), sockets.close()]); // Running calls have 10 s to finish.
  http.closeAllConnections();
});
// #endregion close
process.kill(process.pid, "SIGTERM");
await once(http, "close");
express.http.close();
resource.http.close();
await mcp.close();
await fastifyApp.close();
