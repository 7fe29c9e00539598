/** The tour that `npm run examples -- tour` runs: what the package does, in one program that checks itself. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { OperationRegistry } from "@alkdev/operations";
import { compareTransports } from "./compare.ts";
import { showMore } from "./more.ts";
import { command, isScript, readOptions } from "./options.ts";
import { heading, oneLine, table } from "./print.ts";
import { createTourRegistry } from "./registry.ts";
import { showMCPServer } from "./serve-mcp.ts";
import { startWeatherAPI } from "./weather-api.ts";

const { all, transports } = readOptions(process.argv.slice(2));
/** Functions that close what the tour has opened. They run in reverse order, also after Ctrl-C. */
const closers: Array<() => Promise<void>> = [];

const isInterrupted = await Promise.race([tour().then(() => false), once(process, "SIGINT").then(() => true)]);
for (const close of closers.reverse()) await close();
if (isInterrupted) process.exit(130);

async function tour(): Promise<void> {
  console.log(
    "Options: --all shows every part, --nats and --redis also call over these brokers, --help explains them.",
  );
  const api = await startWeatherAPI();
  closers.push(() => api.close());
  const registry = await createTourRegistry(api.documentUrl);
  closers.push(() => registry.close());

  showSources(registry);
  await showComposition(registry);
  await compareTransports(registry, api.documentUrl, transports, (close) => closers.push(close));
  await showMCPServer(registry, (close) => closers.push(close));
  if (all) await showMore(registry);
  showNext();
}

function showSources(registry: OperationRegistry): void {
  const idsOf = (...namespaces: string[]) =>
    registry
      .list()
      .filter(({ namespace }) => namespaces.includes(namespace))
      .map(({ namespace, name }) => `${namespace}.${name}`)
      .join(", ");
  heading("One registry for functions, an HTTP API and an MCP server");
  table(
    ["source", "operations"],
    [
      ["functions", idsOf("text", "task", "clock", "trip")],
      ["OpenAPI document", idsOf("weather")],
      ["MCP server", idsOf("packing")],
    ],
  );
}

async function showComposition(registry: OperationRegistry): Promise<void> {
  heading("One operation calls all three");
  console.log('execute("trip.prepare", { name: "Grace", city: "Oslo" })');
  const stopListening = registry.on("call", (event) => {
    if (event.kind !== "succeeded" || event.parentRequestId === undefined || event.envelope === undefined) return;
    const { data, meta } = event.envelope;
    console.log(`  calls ${event.operationId.padEnd(16)}  ${meta.source.padEnd(5)}  ${oneLine(data)}`);
  });
  const prepared = await registry.execute("trip.prepare", { name: "Grace", city: "Oslo" });
  stopListening();
  console.log(`  → ${oneLine(prepared)}`);
  assert.deepEqual(prepared.data, { greeting: "Hello, Grace!", celsius: -4, pack: ["coat", "gloves"] });
}

function showNext(): void {
  heading("Try next");
  table(
    ["command", "what it does"],
    [
      all
        ? [`${command} --help`, "explains the options"]
        : [`${command} --all`, "shows errors, drift, subscriptions and search"],
      [`${command} --nats --redis`, "also calls over both brokers"],
      isScript
        ? ["npm start", "runs a hub: a configuration file instead of a program"]
        : ["npx @alkdev/operations init", "writes the configuration of a hub, and a first operation"],
    ],
  );
}
