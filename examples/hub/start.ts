/** Runs the hub until Ctrl-C, and prints what to try. In a clone of the repository, `npm start` runs this program. */
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { CallError } from "@alkdev/operations";
import { createHub, type Hub, loadConfig } from "@alkdev/operations/hub";
import { startDeliveryAPI } from "./delivery-api.ts";

const delivery = await startDeliveryAPI();
process.env["DELIVERY_API"] = delivery.documentUrl; // The configuration refers to this variable.
try {
  const file = fileURLToPath(new URL("operations.config.ts", import.meta.url));
  const { config, folder } = await loadConfig(file);
  const hub = await createHub(config, { file, folder, dev: true, startTimeout: 60_000, closeTimeout: 2_000 });
  printSources(hub);
  console.log(`\nOpen the console in a browser:\n\n  ${hub.createConsoleLink()}`);
  printThingsToTry(hub.url!, hub.token!, relative(process.cwd(), folder));
  await waitForSignal();
  console.log("Closing the hub.");
  await hub.close();
} catch (error) {
  const { message, details } = error as CallError;
  console.error(`The hub cannot start: ${message}`);
  const isTaken = (details as { code?: unknown } | undefined)?.code === "EADDRINUSE";
  if (isTaken) console.error("Set the variable PORT to another port, such as PORT=0.");
  process.exitCode = 1;
}
await delivery.close();

function printSources(hub: Hub): void {
  console.log(`\nThe hub runs at ${hub.url}. Its operations come from three sources:\n`);
  for (const { name, kind, status, operations, reason = "" } of hub.sources()) {
    console.log(`  ${name.padEnd(9)} ${kind.padEnd(8)} ${status}, operations: ${operations} ${reason}`.trimEnd());
  }
}

function printThingsToTry(url: string, token: string, folder: string): void {
  const things = [
    ["Read the orders of the database over HTTP", `curl -s -H 'authorization: Bearer ${token}' ${url}/order/list`],
    ["List all operations", `npx @alkdev/operations list --hub ${url}`],
    [
      "Place an order: the HTTP API books it, the database stores it, and the MCP server writes a letter",
      `npx @alkdev/operations call order.place item=Mug city=Oslo --hub ${url}`,
    ],
    [
      "Add the hub to Claude Code; other editors with --for cursor, vscode, …",
      `npx @alkdev/operations mcp-config --for claude --hub ${url}`,
    ],
    [
      "Write the types of all operations to a file",
      `npx @alkdev/operations types --hub ${url} -o ${join(folder, ".data/operations.d.ts")}`,
    ],
  ];
  console.log("\nTry these in another terminal, in this folder:\n");
  for (const [title, line] of things) console.log(`  # ${title}\n  ${line}\n`);
  console.log(
    `Orders are kept in ${join(folder, ".data")}. Edit a file in ${join(folder, "operations")} and call it again.`,
  );
  console.log("Ctrl-C ends the hub.");
}

/** Resolves when the user ends the program. Further signals are ignored, because npm passes on a copy of each. */
function waitForSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve());
  });
}
