import type { Kind } from "../kind.ts";
import { access, client, ending, error, nested, single } from "./calls.ts";
import { command, types } from "./command.ts";
import { input, output, schema } from "./data.ts";
import { openAPI } from "./openapi.ts";
import { peer, webSocket } from "./peers.ts";
import { follow, registration } from "./registry.ts";
import { document, http, mcp } from "./servers.ts";
import { middleware, subscription } from "./streams.ts";

/** Every kind of cases, in the order of the report. */
export const kinds: readonly Kind[] = [
  schema,
  input,
  output,
  single,
  error,
  access,
  nested,
  ending,
  subscription,
  middleware,
  client,
  registration,
  follow,
  peer,
  webSocket,
  http,
  document,
  mcp,
  openAPI,
  types,
  command,
];
