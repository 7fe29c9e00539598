/**
 * Runs a hub with functions, an HTTP API and an MCP server, for the checks of its console. Prints one line of JSON with its
 * address and a link, and then one for each line of JSON that it reads.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createHub } from "@alkdev/operations/hub";

/**
 * @type {{
 *   port?: number, count?: number, tokens?: { hash: string, identity: object }[], history?: object, isBare?: boolean,
 *   console?: boolean, schemas?: object[]
 * }}
 */
const options = JSON.parse(process.argv[2] ?? "{}");
const folder = fileURLToPath(new URL(".", import.meta.url));
const weather = await startWeather(options.count ?? 0);
const sources = {
  shop: { modules: "./operations" },
  weather: { openapi: `${weather.url}/openapi.json` },
  ...(options.count === undefined && {
    media: { mcp: { command: process.execPath, args: ["media-server.mjs"] } },
    broken: { openapi: `${weather.url}/missing.json` },
  }),
};
const config = {
  sources: options.isBare ? {} : sources,
  serve: { port: options.port ?? 0, websocket: false, ...(options.console === false && { console: false }) },
  rules: [{ match: "weather.*", type: "mutation", requiredScopes: ["weather:write"] }],
  ...(options.tokens !== undefined && { access: { tokens: options.tokens } }),
  history: { payloads: ["shop.*", "weather.*", "media.*"], ...options.history },
};
const hub = await createHub(config, { folder, startTimeout: 30_000, closeTimeout: 1_000 });
for (const [at, inputSchema] of (options.schemas ?? []).entries()) {
  hub.registry.register({
    ...{
      namespace: "made",
      name: `op${at}`,
      version: "1.0.0",
      type: "query",
      description: "",
      inputSchema,
      outputSchema: {},
    },
    accessControl: { requiredScopes: [] },
    handler: (input) => input,
  });
}
print({ url: hub.url, link: hub.createConsoleLink(), token: hub.token });

const commands = {
  link: () => ({ link: hub.createConsoleLink() }),
  /** Calls an operation at a rate, and returns how long it took. */
  load: async ({ calls, perSecond }) => {
    const identity = { id: "load", scopes: ["shop"] };
    const started = performance.now();
    for (let done = 0; done < calls; ) {
      const due = Math.min(calls, Math.ceil(((performance.now() - started) / 1_000) * perSecond));
      const batch = [];
      for (; done < due; done++) {
        // Every hundredth call fails.
        batch.push(hub.registry.execute("shop.measure", { fail: done % 100 === 0 }, { identity }));
      }
      await Promise.allSettled(batch);
      await wait(5);
    }
    return { ms: performance.now() - started };
  },
  /** Returns the time of the processor that this process has used, in ms. */
  cpu: () => {
    const { user, system } = process.cpuUsage();
    return { ms: (user + system) / 1_000 };
  },
  reload: async ({ tokens }) => {
    await hub.reload({ ...config, access: { tokens } });
    return {};
  },
};
const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const { name, ...input } = JSON.parse(line);
  print(await commands[name](input));
});
lines.on("close", stop); // The checks have ended.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, stop);

async function stop() {
  weather.close();
  await hub.close();
  process.exit(0);
}

function print(value) {
  console.log(JSON.stringify(value));
}

/** An HTTP API that says one thing in its document and another one in its responses. `count` adds operations without a use. */
async function startWeather(count) {
  const content = (properties) => ({
    "application/json": { schema: { type: "object", required: Object.keys(properties), properties } },
  });
  const paths = {
    "/forecasts/{city}": {
      get: {
        operationId: "forecast",
        summary: "Returns the weather of the next days",
        tags: ["forecast"],
        parameters: [
          { name: "city", in: "path", required: true, schema: { type: "string" } },
          { name: "days", in: "query", schema: { type: "integer", minimum: 1, maximum: 14 } },
        ],
        responses: {
          200: {
            description: "The forecast",
            content: content({
              city: { type: "string" },
              days: {
                type: "array",
                items: { type: "object", properties: { day: { type: "string" }, degrees: { type: "integer" } } },
              },
            }),
          },
          404: { description: "The city is unknown", content: content({ message: { type: "string" } }) },
        },
      },
    },
    "/stations": {
      post: {
        operationId: "addStation",
        summary: "Registers a weather station",
        tags: ["stations"],
        requestBody: { required: true, content: content({ name: { type: "string" }, height: { type: "number" } }) },
        responses: { 201: { description: "The station", content: content({ id: { type: "string" } }) } },
      },
    },
  };
  for (let at = 0; at < count; at++) {
    paths[`/things${at}`] = {
      get: {
        operationId: `things/${at % 100}/read_${at}`,
        summary: `Reads thing ${at} of the ${at % 7 === 0 ? "warehouse" : "office"}`,
        tags: [`group ${at % 20}`],
        responses: { 200: { description: "ok", content: content({ id: { type: "integer" } }) } },
      },
    };
  }
  const document = JSON.stringify({ openapi: "3.1.0", info: { title: "Weather", version: "1.0.0" }, paths });
  const server = createServer((request, response) => {
    const send = (status, body) =>
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(typeof body === "string" ? body : JSON.stringify(body));
    if (request.url === "/openapi.json") return send(200, document);
    const city = /^\/forecasts\/([^?]+)/.exec(request.url)?.[1];
    if (city === undefined)
      return request.url === "/stations" ? send(201, { id: "station-7" }) : send(404, { message: "Not here." });
    if (city === "Atlantis") return send(404, { message: "There is no weather in Atlantis." });
    const days = ["Mon", "Tue", "Wed"].map((day, at) => ({ day, degrees: String(7 + at) }));
    setTimeout(() => send(200, { city: decodeURIComponent(city), days, station: "not in the document" }), 120);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
