import { onAbort } from "../../../internal/abort-listeners.ts";
import { quote } from "../../../internal/text.ts";
import { CallError } from "../../../operation/index.ts";
import type { MCPClientConfig } from "../config.ts";
import type { MCPConnection } from "./connection.ts";
import { loadSDK } from "./load-sdk.ts";
import { ServerConnection } from "./server-connection.ts";
import { createSetup } from "./setup.ts";

/**
 * Starts or reaches a server and resolves when it is ready. Rejects with a `CallError`, and then nothing is left
 * running; `details.stderr` holds the last lines that a program wrote.
 */
export async function openConnection(
  name: string,
  config: MCPClientConfig,
  { signal }: { signal?: AbortSignal } = {},
): Promise<MCPConnection> {
  assertUsable(name, config);
  const connection = new ServerConnection(createSetup(await loadSDK(), name, config));
  const abort = () => void connection.close();
  const stopListening = onAbort(signal, abort);
  try {
    if (signal?.aborted) abort();
    await connection.start();
  } finally {
    stopListening();
  }
  return connection;
}

function assertUsable(name: string, { command, url, transport }: MCPClientConfig): void {
  if (typeof transport === "function") return;
  if ((command === undefined) === (url === undefined)) {
    throw misconfigured(name, 'give either "command", for a program, or "url", for a server that is reached by HTTP');
  }
  if (url === undefined) return;
  if (!URL.canParse(url)) throw misconfigured(name, '"url" is not a URL');
  const { protocol, username, password } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") throw misconfigured(name, '"url" must be http or https');
  if (username !== "" || password !== "") {
    throw misconfigured(name, '"url" must hold no credentials. Give them as "auth" or "headers"');
  }
}

function misconfigured(name: string, problem: string): CallError {
  return new CallError(
    "VALIDATION_ERROR",
    `MCP server ${quote(name)}: ${problem}.`,
    { server: name },
    { mayHaveRun: false },
  );
}
